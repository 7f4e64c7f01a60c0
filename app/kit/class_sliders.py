"""Sliders in rows of 26 pixels, one per class, whose values arrive while one drags.

Streamlit's own take 72 pixels each, and send a value only on release.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_HTML = '<details><summary>Sliders</summary><div class="rows"></div></details>'


@dataclass(frozen=True)
class Row:
    """A slider from 0 to max, in the steps that class_sliders.js sets.

    id: unique, and "" for the one that moves all those in percent.
    """

    id: str
    label: str
    value: int = 0
    max: int = 100
    unit: str = "%"


def draw(
    title: str,
    rows: Sequence[Row],
    *,
    key: str,
    on_move: Callable[[Mapping[str, int], bool], None],
    disabled: bool = False,
) -> None:
    """Draw the rows in a panel, which is folded at first on narrow screens.

    on_move: called before the page runs, with the values by id, and whether the slider was released.
    """
    move = st.session_state.get(key, {}).get("move") or {}
    _component()(
        key=key,
        data={"title": title, "rows": [asdict(row) for row in rows], "disabled": disabled, "seq": _seq(move)},
        default={"move": None},
        on_move_change=lambda: _take(key, {row.id: row.max for row in rows}, on_move),
    )


def _take(key: str, highest: Mapping[str, int], on_move: Callable[[Mapping[str, int], bool], None]) -> None:
    """Pass on what a browser sent, as far as it is what the sliders can send."""
    move: Any = st.session_state[key]["move"]
    given = move.get("values") if isinstance(move, dict) else None
    if not isinstance(given, dict):
        return
    values = {name: given.get(name) for name in highest if name}
    if all(_is_within(value, highest[name]) for name, value in values.items()):
        on_move({name: int(value) for name, value in values.items() if value is not None}, bool(move.get("done")))


def _is_within(value: object, highest: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= highest


def _seq(move: Any) -> int:
    seq = move.get("seq") if isinstance(move, dict) else None
    return seq if isinstance(seq, int) else 0


@cache
def _component() -> Callable[..., Any]:
    js, css = (Path(__file__).with_suffix(suffix).read_text("utf-8") for suffix in (".js", ".css"))
    return st.components.v2.component("class_sliders", html=_HTML, js=js, css=css)
