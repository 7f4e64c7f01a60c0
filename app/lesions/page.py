"""Skin lesions: should this one go to the expert, and what is the risk either way?"""

import time

import streamlit as st

from app.kit.notes import MEDICAL_ICON, NOT_FOR_DIAGNOSIS
from app.kit.text import plain
from app.lesions import cost_panel, drop, judged, results, state, systems, views
from app.lesions.scoring import MAX_ENTRIES, MAX_SESSION_PIXELS, score_batch
from app.lesions.state import LesionSession
from l2d_core.common.paths import PRETRAINED
from l2d_core.lesions import system as lesions

EMPTY = (
    "Should this one go to the expert, and what is the risk either way? Drop images above, or try the drawn example."
)
NOTE = f"{NOT_FOR_DIAGNOSIS}: no advice on any lesion. If one worries you, see a doctor."
# After this much scoring the results so far are drawn: soon at first, then less often, since drawing takes time too.
FIRST_SLICE_SECONDS, SLICE_SECONDS = 0.5, 2.5

with st.container(horizontal=True, vertical_alignment="center", key="lesion-title"):
    st.title("Skin lesions", anchor=False, width="content")
    st.warning(NOTE, icon=MEDICAL_ICON)


def score(session: LesionSession, system: lesions.LesionSystem) -> None:
    """Score waiting pictures for a while, with a progress bar."""
    bar, end = st.empty(), time.monotonic() + (SLICE_SECONDS if session.entries else FIRST_SLICE_SECONDS)
    while len(session.intake) and time.monotonic() < end:
        score_batch(session, system)
        done = len(session.entries)
        total = done + len(session.intake)
        bar.progress(done / max(total, 1), f"Scored {done:,} of {total:,} pictures")
    if not len(session.intake):
        bar.empty()


def draw() -> None:
    """Draw all below the note: the ways in, and the results."""
    missing = systems.missing_commands()
    if missing:
        st.info("The networks of this page are not shipped here. With HAM10000 in the folder DIR, these make them:")
        st.code("\n".join(missing), language="sh")
        return
    loading = systems.load_in_background()
    with st.sidebar:
        expert = systems.draw_choice()
        rule = results.draw_rule()
        tau = cost_panel.draw_slider()
    session = state.current()
    drop.draw(session)
    view = views.draw_choice()
    if view == "list" and not (len(session.intake) or session.entries):
        st.info(EMPTY, icon=":material/imagesmode:")
        return
    try:
        with st.spinner("Loading the networks, once for all visitors ..."):
            system = loading.result()
        score(session, system)
        chosen = systems.systems_for(expert, tau)
        note = systems.note_on_decisions(expert, rule.leader, tau)
    except (OSError, ValueError) as problem:
        if loading.done() and loading.exception() is not None:
            systems.load_in_background.clear()  # the next visit tries again
        st.error(plain(str(problem).replace(f"{PRETRAINED}/", "")))  # without a path of the server
        return
    if note:
        st.sidebar.caption(note)
    if session.left_out:
        most = f"{MAX_ENTRIES:,} pictures, or {MAX_SESSION_PIXELS // 10**6:,} million pixels in all"
        st.warning(f"More than {most}: {session.left_out:,} were left out. Press Clear to go on.")
    views.draw(view, judged.Deciding(system, chosen, expert.kind, rule, tau), session)
    if len(session.intake):
        st.rerun()


draw()
