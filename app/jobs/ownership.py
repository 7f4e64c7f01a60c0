"""Which trainings this session owns: the tokens of their owners' links, which stay out of every address.

They are kept in the session and, so that a reload finds them again, in the storage of the browser's tab.
"""

from typing import Any

import streamlit as st

from app.jobs import board as jobs_board
from app.jobs.folder import Link
from app.kit import address

PARAMETER = "job"  # of an address: ids of trainings, each with its token in an owner's link
MAX_KEPT = 64
_TOKENS, _REFUSED, _STORAGE = "job_tokens", "job_tokens_refused", "job_storage"
# Adds the session's tokens to the tab's, and sends the tab's where the session has no answer to one of them.
_SCRIPT = """
export default function ({ data, setStateValue }) {
  const name = "l2d-owned-trainings";
  let kept = {};
  try {
    kept = JSON.parse(sessionStorage.getItem(name)) || {};
    sessionStorage.setItem(name, JSON.stringify({ ...kept, ...data.tokens }));
  } catch (problem) {
    return;
  }
  if (Object.keys(kept).slice(-data.most).some((id) => !(id in data.tokens) && !data.refused.includes(id))) {
    setStateValue("kept", kept);
  }
}
"""


def link_of(job_id: str) -> Link:
    """The link of a training, with its token where this session has it."""
    return Link(job_id, _tokens().get(job_id, ""))


def owned_ids() -> list[str]:
    """The ids of the trainings that this session owns."""
    return list(_tokens())


def own(link: Link) -> None:
    """Keep the token of a link that is known to be the owner's."""
    _tokens()[link.id] = link.token


def take_from_address() -> None:
    """Move the tokens of owners' links from the address into the session; the ids stay.

    Blanks and full stops around a link came along when it was copied.
    """
    texts = [text.strip(" .,\t\n") for text in address.read(PARAMETER)]
    links = [Link.read(text) for text in texts]
    if not any(link and link.token for link in links):
        return
    _take([link for link in links if link])
    address.write(PARAMETER, [link.id if link else text for text, link in zip(texts, links, strict=True)])


def keep_in_browser() -> None:
    """Have the browser's tab keep the tokens, and take those that it kept from before a reload."""
    storage = st.components.v2.component("l2d_owned_trainings", js=_SCRIPT)
    refused = st.session_state.setdefault(_REFUSED, [])
    with st.container(key="hidden-owned-trainings"):
        data = {"tokens": _tokens(), "refused": refused, "most": MAX_KEPT}
        result = storage(key=_STORAGE, data=data, on_kept_change=lambda: None)
    new = [link for link in _links(result.get("kept")) if link.id not in _tokens() and link.id not in refused]
    if new:
        st.session_state[_REFUSED] = [*refused, *_take(new)][-MAX_KEPT:]
        st.rerun()


def _take(links: list[Link]) -> list[str]:
    """Own what these are the owner's links of; returns the ids of the others."""
    board, refused = jobs_board.job_board(), []
    for link in links:
        if link.token and board.owns(link):
            own(link)
        else:
            refused.append(link.id)
    return refused


def _links(kept: Any) -> list[Link]:
    """The links in what a browser sent, the latest of them."""
    if not isinstance(kept, dict):
        return []
    links = [Link.read(f"{job_id}.{token}") for job_id, token in list(kept.items())[-MAX_KEPT:]]
    return [link for link in links if link]


def _tokens() -> dict[str, str]:
    return st.session_state.setdefault(_TOKENS, {})
