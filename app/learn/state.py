"""The lesson in the session: which step is shown, the settings of all steps, and the handout."""

import streamlit as st

STEPS = tuple("12345678")
STEP = "step"
# Of all steps, in their order: a link holds those that were set, and a step knows those of the others.
SETTINGS = (
    "asked",
    "vehicles",
    "animals",
    "n",
    "bins",
    "boldness",
    "draw",
    "right",
    "first",
    "slip",
    "proxy",
    "first_half",
    "groups",
    "risk",
)
_HANDOUT = "learn_handout_file"


def key_of(name: str) -> str:
    """The key, in the session and in the address, of one of SETTINGS."""
    if name not in SETTINGS:
        raise ValueError(f"the setting must be one of {', '.join(SETTINGS)}, got {name}")
    return f"learn_{name}"


def begin() -> None:
    """Start with the first step if none is chosen: on a quick way through pages the browser may send that none is."""
    if st.session_state.get(STEP) is None:
        st.session_state[STEP] = STEPS[0]


def go(by: int) -> None:
    """Move by this many steps, before the page is drawn; from the current one, so that two quick clicks both count."""
    place = STEPS.index(st.session_state[STEP]) + by
    st.session_state[STEP] = STEPS[min(max(place, 0), len(STEPS) - 1)]


def handout() -> str:
    """The handout that was made last; "" without one."""
    return st.session_state.get(_HANDOUT, "")


def set_handout(html: str) -> None:
    """Keep a handout, to be saved."""
    st.session_state[_HANDOUT] = html
