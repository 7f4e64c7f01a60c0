"""Train: which system do I want, and how is its training going?"""

import streamlit as st

import cached
from components import job_cards, job_list, job_session, train_form, train_start

POLL_SECONDS = 1.5
DIAGNOSIS_NOTE = "A research demonstration on published images: not for diagnosis, and no advice on any lesion."

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Train", anchor=False, width="content")
    st.markdown("Which system do I want, and how is its training going?", width="content")
board = cached.job_board()
if job_session.has_bad_link():
    st.warning("The address does not hold the link of a training: perhaps a part of it is missing.")
links = job_session.watched(board)
with st.sidebar:
    wish = train_form.draw()
if wish.dataset == "ham10000":
    st.caption(f":material/medical_information: {DIAGNOSIS_NOTE}")
train_start.draw(board, wish)
jobs = board.list()
is_busy = any(view.is_pending for view in jobs)


@st.fragment(run_every=POLL_SECONDS if is_busy else None)
def live() -> None:
    """The trainings that are watched, and the list of all, drawn anew by itself while one waits or runs."""
    views = board.list()
    if any(view.is_pending for view in views) != is_busy:
        st.rerun()
    job_cards.draw(board, job_session.watched(board))
    if views:
        st.header("All trainings here", anchor=False)
        job_list.draw(views)


live()
if not jobs:
    st.info(
        "Nothing has been trained here yet. Choose a system in the side bar, or start with the smallest:",
        icon=":material/model_training:",
    )
    st.button("Fill in a quick run on handwritten digits", icon=":material/bolt:", on_click=train_form.quick)
