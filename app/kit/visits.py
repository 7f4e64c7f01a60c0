"""Whether a page is drawn for the first time since another page was left, by a link or by the browser's Back."""

import streamlit as st

_PAGE, _HAS_TURNED = "visits_page", "visits_has_turned"


def note(page: str) -> None:
    """Called by the router in every run, before the page."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_HAS_TURNED] = _PAGE in st.session_state
        st.session_state[_PAGE] = page


def take_turn() -> bool:
    """Whether another page was left for this one since this was last asked."""
    return st.session_state.pop(_HAS_TURNED, False)
