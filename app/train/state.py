"""Which trainings this session watches, and which are its own: by their links, in the address and in the session."""

import time
from collections.abc import Sequence

import streamlit as st

from app.jobs.board import JobBoard
from app.jobs.folder import Link
from app.kit import address

MAX_WATCHED = 6
NOTICE_SECONDS = 15.0
_WATCHED, _TOKENS, _NOTICE = "train_watched", "train_tokens", "train_notice"


def watched(board: JobBoard) -> list[Link]:
    """The links in the address, or else those of the session, which then go into the address."""
    texts = address.read("job")
    named = [link for text in texts[:MAX_WATCHED] if (link := Link.read(text))]
    for link in named:
        if link.token and board.owns(link):
            _tokens()[link.id] = link.token
    if texts:
        st.session_state[_WATCHED] = list(dict.fromkeys(link.id for link in named))
    links = [link_of(job_id) for job_id in st.session_state.get(_WATCHED, [])]
    address.write("job", [str(link) for link in links])
    return links


def has_bad_link() -> bool:
    """Whether a link in the address is none; to be asked before `watched`, which mends the address."""
    return any(Link.read(text) is None for text in address.read("job"))


def watch(links: Sequence[Link]) -> None:
    """Watch these from now on, and keep the tokens that they have."""
    for link in links:
        if link.token:
            _tokens()[link.id] = link.token
    st.session_state[_WATCHED] = [link.id for link in links]
    address.write("job", [str(link_of(link.id)) for link in links])


def leave(job_id: str) -> None:
    """Watch a training no more."""
    watch([link_of(other) for other in st.session_state.get(_WATCHED, []) if other != job_id])


def link_of(job_id: str) -> Link:
    """The link of a training, with its token where this session has it."""
    return Link(job_id, _tokens().get(job_id, ""))


def note(problem: Exception) -> None:
    """Have the page say for a while why something could not be done."""
    st.session_state[_NOTICE] = (str(problem), time.monotonic())


def notice() -> str:
    """Why something could not be done a moment ago; or ""."""
    text, since = st.session_state.get(_NOTICE, ("", 0.0))
    return text if time.monotonic() - since < NOTICE_SECONDS else ""


def _tokens() -> dict[str, str]:
    return st.session_state.setdefault(_TOKENS, {})
