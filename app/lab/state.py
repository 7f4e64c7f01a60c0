"""The live lab in the session: its settings, the moves that led to them, and the address, which follows the moves.

Each move is one entry of the browser's history, so that Back undoes it. A run whose address is an old one comes from
Back, unless it also changes a setting: then the browser has not yet learned of the latest address.
"""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.fits.settings import Binning
from app.fits.tables import Tables
from app.kit import expert_panel, visits
from app.kit import settings as kit_settings
from app.kit.settings import Setting, choice, flag, number, whole
from app.lab import people_panel
from app.sharing.carried import Settings
from l2d_core.datasets import LAB_DATASETS

if TYPE_CHECKING:
    import pandas as pd

STRATEGIES = {"equal_width": "Equal width", "equal_mass": "Equal mass"}  # of bins
HEAD_TITLES = {"linear": "Linear", "mlp": "Small MLP (one hidden layer)"}
VIEWS = {
    "reliability": "Reliability",
    "corp": "Without bins",
    "above": "Above 1",
    "risk": "Risk",
    "accuracy": "Accuracy",
}
FIRST = "cifar10"
TRAIN_SIZES = (100, 300, 1000, 3000)
ALL = "all"
MAX_SEED = 2**31 - 1
MAX_MOVES = 200
SETTLE_SECONDS = 0.25  # in which a browser may still send the address before the last
MEASURES, CLASSES = "lab-measures", "lab-classes"  # of what is unfolded
GROUPS, GROUPS_OF, GROUPS_BY, GROUPS_MIX = "lab-groups", "lab-groups-of", "lab-groups-by", "lab-groups-mix"
DATA, SEED, BINS, BIN_KIND, VIEW, OVERLAY = "data", "seed", "bins", "bin_kind", "view", "overlay"
OF_THE_STAGE = (BINS, BIN_KIND, VIEW, OVERLAY)  # settings that train nothing, and are no moves


@dataclass(frozen=True)
class Shown:
    """What the stage showed of a fit, to compare another with. name: its settings, in words."""

    name: str
    tables: Tables
    curves: "Mapping[str, pd.DataFrame]"


Move = tuple[tuple[str, Any], ...]  # all settings that decide a fit, by key
Address = tuple[tuple[str, str], ...]

_ADDRESS, _WRITTEN, _NOW, _SEEN = "lab_address", "lab_written", "lab_now", "lab_seen"
_MOVES, _PLACE, _DRAGGING, _SHOWN, _PINNED = "lab_moves", "lab_place", "lab_dragging", "lab_shown", "lab_pinned"


def title_of(dataset: str) -> str:
    """The title of one of LAB_DATASETS."""
    return LAB_DATASETS[dataset].title


def dataset() -> str:
    """The data set of the session."""
    return st.session_state.get(DATA, FIRST)


def settings(name: str) -> dict[str, Setting]:
    """All settings of a data set by key, in the order of a link."""
    known = LAB_DATASETS[name]
    people = {} if known.people is None else people_panel.settings(name)
    sizes = {size: str(size) for size in (ALL, *TRAIN_SIZES) if size == ALL or size < known.num_train}
    return {
        DATA: choice({one: title_of(one) for one in LAB_DATASETS}, FIRST),
        **people,
        **expert_panel.settings(name, known.class_names),
        f"{name}_noise": number(known.min_noise, known.max_noise, known.default_noise),
        f"{name}_size": choice(sizes),
        "random_labels": flag(),
        f"{name}_head": choice(HEAD_TITLES, known.head.kind),
        f"{name}_epochs": whole(1, 60, known.head.epochs),
        "alpha": number(0, 1, 1.0),
        "asymmetric": flag(),
        "seeds": whole(1, 16, 8),
        SEED: whole(0, MAX_SEED, 0),
        BINS: whole(5, 50, Binning.bins),
        BIN_KIND: choice(STRATEGIES),
        VIEW: choice(VIEWS),
        OVERLAY: flag(),
    }


def settings_keys(name: str | None = None) -> Settings:
    """The keys of all settings of a data set, that of the session if None: how each value is written in a link."""
    return {key: setting.write for key, setting in settings(name or dataset()).items()}


def arrive() -> None:
    """Take the settings from the address where it is not the one that this page has written; else keep them."""
    texts = st.query_params.to_dict()
    given, last, has_turned = _address_of(texts), st.session_state.get(_ADDRESS), visits.take_turn()
    if last is None or (has_turned and given != last):
        if given:
            _apply(_parse(texts))
        begin(dataset())
        _seen()[given] = _now()
    elif given != last and not has_turned and _is_back():
        _apply(_seen().get(given) or _parse(texts))
        begin(dataset())
    elif given != last:
        given = last
    st.session_state[_ADDRESS] = given


def begin(name: str) -> None:
    """Give all settings of a data set that the session does not have yet their defaults."""
    kit_settings.begin(settings(name))


def note_move() -> None:
    """Keep the settings, once their controls are drawn, as a move if they are new, and write them into the address."""
    now, moves = _now(), st.session_state.setdefault(_MOVES, [])
    st.session_state[_NOW] = now
    if is_dragging():
        return
    place = st.session_state.get(_PLACE, -1)
    if not moves or moves[place] != now:
        del moves[place + 1 :]
        moves.append(now)
        del moves[:-MAX_MOVES]
        st.session_state[_PLACE] = len(moves) - 1
        if len(moves) > 1:
            _write_address(now)


def step(by: int) -> None:
    """Undo (-1) or redo (1) a move."""
    if not can_step(by):
        return
    st.session_state[_PLACE] += by
    move = st.session_state[_MOVES][st.session_state[_PLACE]]
    _set(move)
    _write_address(move)


def can_step(by: int) -> bool:
    """Whether there is a move to undo (-1) or to redo (1)."""
    return 0 <= st.session_state.get(_PLACE, 0) + by < len(st.session_state.get(_MOVES, ()))


def shuffle() -> None:
    """Take another seed."""
    st.session_state[SEED] = random.SystemRandom().randrange(10_000)


def set_dragging(is_released: bool) -> None:
    """Called when a slider has sent a value."""
    st.session_state[_DRAGGING] = not is_released


def is_dragging() -> bool:
    """Whether a slider is being dragged."""
    return st.session_state.get(_DRAGGING, False)


def binning() -> Binning:
    """The bins of the charts."""
    return Binning(st.session_state.get(BINS, Binning.bins), st.session_state.get(BIN_KIND, Binning.strategy))


def view() -> str:
    """The view of the stage, one of VIEWS."""
    return st.session_state.get(VIEW) or next(iter(VIEWS))


def shown(result: Shown) -> Shown | None:
    """Keep what the stage shows; returns what it showed before the last move, None where nothing was moved yet.

    A run with the same settings as the last one changes neither. What is shown while one drags is not kept.
    """
    now, (last, kept, before) = _now(), st.session_state.get(_SHOWN, (None, None, None))
    if now != last and kept is not None:
        before = kept
    if not is_dragging():
        st.session_state[_SHOWN] = (now, result, before)
    return before


def pinned() -> Shown | None:
    """What was pinned as the reference."""
    return st.session_state.get(_PINNED)


def pin(result: Shown | None) -> None:
    """Keep a result as the reference; None: the state before the last move is the reference again."""
    st.session_state[_PINNED] = result


def _now() -> Move:
    """The settings that decide a fit."""
    return tuple((key, st.session_state.get(key)) for key in settings(dataset()) if key not in OF_THE_STAGE)


def _parse(texts: Mapping[str, str]) -> Move:
    """The settings in an address, with the defaults of those that are not there and decide a fit."""
    name = kit_settings.read({DATA: settings(FIRST)[DATA]}, texts).get(DATA) or _named_by_others(texts)
    found = settings(name)
    defaults = {key: setting.default for key, setting in found.items() if key not in OF_THE_STAGE}
    return tuple((defaults | kit_settings.read(found, texts) | {DATA: name}).items())


def _named_by_others(texts: Mapping[str, str]) -> str:
    """The data set that other settings belong to: addresses once left out the first data set, which was another."""
    return next((name for name in LAB_DATASETS if any(key.startswith(f"{name}_") for key in texts)), FIRST)


def _apply(move: Move) -> None:
    """Take these settings, as the place among the moves where they are, or as a new move."""
    _set(move)
    now, moves = _now(), st.session_state.get(_MOVES, [])
    places = [place for place, one in enumerate(moves) if one == now]
    if places:
        st.session_state[_PLACE] = places[-1]


def _set(move: Move) -> None:
    for key, value in move:
        st.session_state[key] = value
    st.session_state[_DRAGGING] = False


def _address_of(params: Mapping[str, str]) -> Address:
    keys = {key for name in LAB_DATASETS for key in settings(name)} - set(OF_THE_STAGE)
    return tuple(sorted((key, text) for key, text in params.items() if key in keys))


def _write_address(move: Move) -> None:
    """One entry of the browser's history; what is not the lab's own stays."""
    found = settings(dict(move)[DATA])
    texts = kit_settings.write({key: found[key] for key, _ in move}, dict(move))
    address = _address_of(texts)
    others = {key: st.query_params.get_all(key) for key in st.query_params}
    for key, _ in _address_of(st.query_params.to_dict()):
        del others[key]
    st.query_params.from_dict(others | texts)
    st.session_state[_ADDRESS], st.session_state[_WRITTEN] = address, time.monotonic()
    _seen()[address] = move


def _is_back() -> bool:
    """Whether an old address comes from Back: nothing was moved, and the last address has reached the browser."""
    is_settled = time.monotonic() - st.session_state.get(_WRITTEN, 0.0) > SETTLE_SECONDS
    return is_settled and _now() == st.session_state.get(_NOW)


def _seen() -> dict[Address, Move]:
    return st.session_state.setdefault(_SEEN, {})
