"""The state of the page Train in a session: what it watches, the settings of a new training, and what was last done.

No other module reads or writes the page's session keys; the tokens of owned trainings are kept by `app.jobs.ownership`.
"""

import secrets
import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.jobs import ownership
from app.jobs.folder import Link, without_path
from app.kit import address
from l2d_core.common.paths import RUNS_ROOT

MAX_WATCHED = 6
NOTICE_SECONDS = 15.0
_WATCHED, _NOTICE, _SESSION, _PAGE = "train_watched", "train_notice", "train_session", "train_page"
_ESTIMATE, _STARTED = "train_estimate", "train_started"


def key(name: str) -> str:
    """The key of the widget for a setting of a new training, or of its expert."""
    return f"train_{name}"


def has(name: str) -> bool:
    """Whether a setting has a value yet."""
    return key(name) in st.session_state


def setting(name: str, default: Any = None) -> Any:
    """The value of a setting."""
    return st.session_state.get(key(name), default)


def set_setting(name: str, value: Any) -> None:
    """Give a setting a value; where its widget is drawn already, in a callback only."""
    st.session_state[key(name)] = value


def typed_name(job_id: str) -> str:
    """What was typed as the new name of a training."""
    return st.session_state[name_key(job_id)]


def name_key(job_id: str) -> str:
    """The key of the field for a training's new name."""
    return f"name-{job_id}"


def estimate() -> Any:
    """What `keep_estimate` was last given; None where there has been none."""
    return st.session_state.get(_ESTIMATE)


def keep_estimate(estimate: Any) -> None:
    """Keep an estimate of what a training takes."""
    st.session_state[_ESTIMATE] = estimate


def last_start() -> tuple[Any, list[Link], float]:
    """What was last started, as which trainings, and when, by the monotonic clock."""
    return st.session_state.get(_STARTED, (None, [], 0.0))


def note_start(what: Any, links: list[Link]) -> None:
    """Keep what is started now."""
    st.session_state[_STARTED] = (what, links, time.monotonic())


def list_page() -> int:
    """The page of the list of trainings that is shown, from 0."""
    return st.session_state.get(_PAGE, 0)


def turn_to(page: int) -> None:
    """Show another page of the list."""
    st.session_state[_PAGE] = page


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
    """Stop watching a training."""
    watch([ownership.link_of(other) for other in st.session_state.get(_WATCHED, []) if other != job_id])


def session() -> str:
    """The name under which this session's trainings are queued."""
    return st.session_state.setdefault(_SESSION, secrets.token_hex(8))


def note(problem: Exception) -> None:
    """Have the page say for a while why something could not be done."""
    st.session_state[_NOTICE] = (without_path(RUNS_ROOT.resolve(), problem), time.monotonic())


def notice() -> str:
    """Why something could not be done a moment ago; or ""."""
    text, since = st.session_state.get(_NOTICE, ("", 0.0))
    return text if time.monotonic() - since < NOTICE_SECONDS else ""
