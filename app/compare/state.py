"""What this session compares: runs by their names in the address, and its own uploads, which are in no address."""

import weakref
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.compare.uploads import Shelf
from app.jobs.runs import FIRST, MAX_SYSTEMS, RunKey
from app.kit import address, memory

PARAMETER = "run"
BASE = "base"  # in the address, and in the session, for links
_CHOSEN, _SHELF, _NOTES, _BASE = "compare_chosen", "compare_shelf", "compare_notes", "compare_base_key"


def chosen(runs: pd.DataFrame) -> list[str]:
    """The keys of what is compared, in order: from the address, else the session, else the shipped runs of `FIRST`.

    runs: of `compare_runs.list_runs`. What cannot be compared is left out, with a note.
    """
    usable = set(runs["key"][runs["problem"] == ""])
    keys = st.session_state.get(_CHOSEN)
    if address.read(PARAMETER):
        own = [key for key in keys or [] if key in shelf().systems()]
        keys = _from_address() + own
    elif keys is None:
        return [key for key in FIRST if key in usable]
    usable |= shelf().systems().keys()
    lost = [key for key in keys if key not in usable]
    if lost:
        note(f"{len(lost)} of what was to be compared is not here any more, or cannot be read, and was left out.")
    kept = [key for key in keys if key in usable]
    if len(kept) > MAX_SYSTEMS:
        note(f"At most {MAX_SYSTEMS} systems are compared: the first {MAX_SYSTEMS} of the address were taken.")
    if (named := address.read(BASE)) and named[-1] not in kept[:MAX_SYSTEMS]:
        note("The others are set against the first system, since the one that the address names is not compared.")
    choose(kept[:MAX_SYSTEMS])
    return kept[:MAX_SYSTEMS]


def _from_address() -> list[str]:
    texts = address.read(PARAMETER)
    named = [str(key) for text in texts if (key := RunKey.read(text))]
    if len(named) < len(texts):
        note("A part of the address does not name a run, and was left out.")
    return list(dict.fromkeys(named))


def choose(keys: Sequence[str]) -> None:
    """Compare these from now on."""
    st.session_state[_CHOSEN] = list(keys)
    address.write(PARAMETER, [key for key in keys if RunKey.read(key)])


def add(keys: Sequence[str], current: Sequence[str]) -> None:
    """Compare these too, as far as there is room; current: what the page was drawn with."""
    current = _now(current)
    wanted = [*current, *(key for key in keys if key not in current)]
    if len(wanted) > MAX_SYSTEMS:
        note(f"At most {MAX_SYSTEMS} systems are compared: take one away first.")
    choose(wanted[:MAX_SYSTEMS])


def remove(key: str, current: Sequence[str]) -> None:
    """Compare one less; current: what the page was drawn with."""
    current = _now(current)
    if address.read(BASE) == [key]:
        address.write(BASE, [])
    choose([one for one in current if one != key])


def _now(drawn: Sequence[str]) -> Sequence[str]:
    """What is compared: after two quick clicks no longer what the button of the second one was drawn with."""
    return st.session_state.get(_CHOSEN, drawn)


def base(current: Sequence[str]) -> str:
    """The system that the others are set against: from the address, else the session, else the first of `current`."""
    wanted = (address.read(BASE) or [st.session_state.get(_BASE)])[-1]
    key = str(wanted) if wanted in current else current[0]
    set_base(key, current)
    return key


def set_base(key: str, current: Sequence[str]) -> None:
    """Set the others against this one from now on; only a run is in the address, and only where it is not the first."""
    wanted = key if RunKey.read(key) and key != current[0] else None
    st.session_state[_BASE], st.session_state[BASE] = key, wanted
    address.write(BASE, [] if wanted is None else [wanted])


def shelf() -> Shelf:
    """This session's uploads."""
    if _SHELF not in st.session_state:
        st.session_state[_SHELF] = made = Shelf()
        weakref.finalize(made, memory.give_back).atexit = False  # when the tab is closed
    return st.session_state[_SHELF]


def note(text: str) -> None:
    """Have the page say something the next time that it is drawn."""
    notes = st.session_state.setdefault(_NOTES, [])
    if text not in notes:
        notes.append(text)


def notes() -> list[str]:
    """What is to be said; each is said once."""
    return st.session_state.pop(_NOTES, [])


def start_again() -> None:
    """Compare what is shown where nothing was ever chosen."""
    st.session_state.pop(_CHOSEN, None)
    address.write(PARAMETER, [])
