"""The session-state keys of the page The paper, all of them settings in its address."""

import streamlit as st

RESULT, SCALE, ACCURACY, METHODS = "result", "scale", "paper_accuracy", "paper_methods"


def choose_quick() -> None:
    """Choose the scale at which every result can be made."""
    st.session_state[SCALE] = "quick"
