"""All trainings of this server's folder, the newest first, ten a page."""

from collections.abc import Sequence

import streamlit as st

from app.jobs import ownership
from app.jobs.board import JobStatus
from app.train import state, words

A_PAGE = 10
_PAGE = "train_page"


def draw(views: Sequence[JobStatus]) -> None:
    """Draw a page of the list."""
    pages = max(1, -(-len(views) // A_PAGE))
    page = min(st.session_state.get(_PAGE, 0), pages - 1)
    for view in views[page * A_PAGE : (page + 1) * A_PAGE]:
        _draw_row(view)
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            _turn("Newer", page - 1, pages)
            st.caption(f"Page {page + 1} of {pages}, {len(views):,} trainings", width="content")
            _turn("Older", page + 1, pages)


def _draw_row(view: JobStatus) -> None:
    is_own = bool(ownership.link_of(view.id).token)
    own = " :gray-badge[yours]" if is_own else ""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(gap=None, width="stretch"):
            st.markdown(f"{words.name(view)} &nbsp; {words.badge(view)}{own}", unsafe_allow_html=True)
            st.caption(" · ".join(filter(None, [words.subject(view), words.how_far(view)])))
        st.button("Open", key=f"open-{view.id}", on_click=state.watch, args=([ownership.link_of(view.id)],))


def _turn(label: str, to: int, pages: int) -> None:
    st.button(label, key=f"list-{label}", on_click=_go, args=(to,), disabled=not 0 <= to < pages, type="tertiary")


def _go(page: int) -> None:
    st.session_state[_PAGE] = page
