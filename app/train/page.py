"""Train: which system shall be trained, and how is its training going?"""

import streamlit as st

from app.jobs import board as jobs_board
from app.jobs import ownership
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.train import cards, form, start, state
from l2d_core.common.paths import offers_training

POLL_SECONDS = 1.5

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Train", anchor=False, width="content")
    st.markdown("Train whole networks in the background, and watch them.", width="content")
board = jobs_board.job_board()
if state.has_bad_link():
    st.warning("The address does not contain a complete link to a training.")
if offers_training():
    with st.sidebar:
        plan = form.draw()
    if plan.dataset == "ham10000":
        st.caption(f"{MEDICAL_ICON} {DIAGNOSIS_NOTE}")
    start.draw(board, plan)
else:
    st.info(start.SWITCHED_OFF, icon=":material/block:")
ownership.keep_in_browser()  # what has just been started too: a reload may be the next thing to happen
jobs = board.list()
is_busy = any(view.is_pending for view in jobs)


@st.fragment(run_every=POLL_SECONDS if is_busy else None)
def live() -> None:
    """The trainings that are watched, and the list of all, drawn anew by itself while one waits or runs."""
    views = board.list()
    if any(view.is_pending for view in views) != is_busy:
        st.rerun()
    cards.draw(board, state.watched())
    if views:
        st.header("All trainings on this server", anchor=False)
        cards.draw_list(views)


live()
if not jobs and offers_training():
    st.info(
        "Nothing has been trained here yet. Choose a system in the sidebar, or start with the smallest:",
        icon=":material/model_training:",
    )
    st.button("Fill in a quick run on handwritten digits", icon=":material/bolt:", on_click=form.quick)
