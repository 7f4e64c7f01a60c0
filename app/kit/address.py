"""What the page's address says, but for what was written into it a moment ago, which the browser may not know yet.

With every action a browser sends the address that it shows. What the server has just written reaches it a moment later:
an action in between tells the old address, and would undo what was done.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

SETTLE_SECONDS = 4.0  # from then on an old address is the browser's Back
_WRITTEN = "address_written"


@dataclass(frozen=True)
class _Written:
    """What a name was given last, when, and what it had just before, of all times within SETTLE_SECONDS."""

    new: list[str]
    at: float
    old: tuple[tuple[str, ...], ...]


def read(name: str) -> list[str]:
    """The values of a name in the address; [] where it is not there."""
    told, written = st.query_params.get_all(name), _written(name)
    if written is None or told == written.new or tuple(told) not in written.old:
        return told
    _put(name, written.new)
    return written.new


def write(name: str, values: Sequence[str]) -> None:
    """Give a name these values in the address; none: take it out."""
    values, told, written = list(values), read(name), _written(name)
    if told == values:
        return
    old = (*(written.old if written else ()), tuple(told))
    st.session_state.setdefault(_WRITTEN, {})[name] = _Written(values, time.monotonic(), old)
    _put(name, values)


def _written(name: str) -> _Written | None:
    written = st.session_state.get(_WRITTEN, {}).get(name)
    return written if written and time.monotonic() - written.at < SETTLE_SECONDS else None


def _put(name: str, values: Sequence[str]) -> None:
    if values:
        st.query_params[name] = list(values)
    else:
        st.query_params.pop(name, None)
