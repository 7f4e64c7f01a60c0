"""Which trainings this session watches, by their ids in the address and the session, and what could not be done."""

import time
from collections.abc import Sequence

import streamlit as st

from app.jobs import ownership
from app.jobs.folder import Link
from app.kit import address

MAX_WATCHED = 6
NOTICE_SECONDS = 15.0
_WATCHED, _NOTICE = "train_watched", "train_notice"


def watched() -> list[Link]:
    """The links of the trainings in the address, or else in the session, whose ids then go into the address."""
    texts = address.read(ownership.PARAMETER)
    if texts:
        named = [link.id for text in texts[:MAX_WATCHED] if (link := Link.read(text))]
        st.session_state[_WATCHED] = list(dict.fromkeys(named))
    ids = st.session_state.get(_WATCHED, [])
    address.write(ownership.PARAMETER, ids)
    return [ownership.link_of(job_id) for job_id in ids]


def has_bad_link() -> bool:
    """Whether a link in the address is none; to be asked before `watched`, which mends the address."""
    return any(Link.read(text) is None for text in address.read(ownership.PARAMETER))


def watch(links: Sequence[Link]) -> None:
    """Watch these from now on, and keep the tokens that they have."""
    for link in links:
        if link.token:
            ownership.own(link)
    st.session_state[_WATCHED] = [link.id for link in links]
    address.write(ownership.PARAMETER, [link.id for link in links])


def leave(job_id: str) -> None:
    """Watch a training no more."""
    watch([ownership.link_of(other) for other in st.session_state.get(_WATCHED, []) if other != job_id])


def note(problem: Exception) -> None:
    """Have the page say for a while why something could not be done."""
    st.session_state[_NOTICE] = (str(problem), time.monotonic())


def notice() -> str:
    """Why something could not be done a moment ago; or ""."""
    text, since = st.session_state.get(_NOTICE, ("", 0.0))
    return text if time.monotonic() - since < NOTICE_SECONDS else ""
