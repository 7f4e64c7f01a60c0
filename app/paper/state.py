"""The session-state keys of the page The paper: settings in its address, and whether a result was just chosen."""

import streamlit as st

RESULT, SCALE, ACCURACY, METHODS = "result", "scale", "paper_accuracy", "paper_methods"
_CHOSEN = "paper_chosen"


def choose_quick() -> None:
    """Choose the scale at which every result can be made."""
    st.session_state[SCALE] = "quick"


def choose(result: str) -> None:
    """Show a result, and scroll to it."""
    st.session_state[RESULT] = result
    st.session_state[_CHOSEN] = st.session_state.get(_CHOSEN, 0) + 1


def num_chosen() -> int:
    """How often a result was chosen on the scoreboard."""
    return st.session_state.get(_CHOSEN, 0)
