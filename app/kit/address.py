"""The page's address, corrected for what the server has just written into it and the browser does not know yet.

With every action a browser sends the address that it shows. What the server writes reaches it a moment later; an action
in between sends the old address and would undo the change.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

SETTLE_SECONDS = 4.0  # after that, an old address comes from the browser's Back
_WRITTEN = "address_written"


@dataclass(frozen=True)
class _Written:
    """The values that a name was given last, when, and those that it had within SETTLE_SECONDS before."""

    new: list[str]
    at: float
    old: tuple[tuple[str, ...], ...]


def read(name: str) -> list[str]:
    """The values of a name in the address; [] if it is not there."""
    sent, written = st.query_params.get_all(name), _written(name)
    if written is None or sent == written.new or tuple(sent) not in written.old:
        return sent
    _put(name, written.new)
    return written.new


def write(name: str, values: Sequence[str]) -> None:
    """Give a name these values in the address; without values it is removed."""
    values, sent, written = list(values), read(name), _written(name)
    if sent == values:
        return
    old = (*(written.old if written else ()), tuple(sent))
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
