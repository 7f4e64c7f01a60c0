"""A teacher's settings on the page: the question to the students, results behind a click, and the form for a link."""

from collections.abc import Hashable

import streamlit as st

from app.sharing import state
from app.sharing.teaching import GROUPS, MAX_QUESTION, TeacherSettings


def draw(teacher: TeacherSettings) -> None:
    """The question to the students, and a way out of the teacher's settings."""
    if not teacher:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="teacher"):
        if teacher.question:
            st.text(teacher.question)  # which comes from an address: text, and never Markdown or HTML
        else:
            st.caption("A teacher's link has set this page up.", width="stretch")
        st.button(
            "All controls",
            icon=":material/lock_open:",
            on_click=state.set_teacher,
            args=(TeacherSettings(),),
            help="Leave the teacher's settings",
        )


def is_revealed(teacher: TeacherSettings, settings: Hashable) -> bool:
    """Whether results of these settings may be shown; where the teacher wants a click first, its button is drawn."""
    if not teacher.is_veiled or state.is_revealed(settings):
        return True
    st.info("What do you expect? Decide, and then look.", icon=":material/visibility_off:")
    st.button("Show the results", type="primary", on_click=state.reveal, args=(settings,))
    return False


def draw_form() -> TeacherSettings:
    """The form for a link to a class; returns what was filled in."""
    with st.expander("For a class", icon=":material/school:"):
        question = st.text_area("A question to the students", max_chars=MAX_QUESTION, key="share_question")
        hidden = st.multiselect("Hide", list(GROUPS), format_func=GROUPS.get, key="share_hide")
        locked = st.multiselect("Lock", list(GROUPS), format_func=GROUPS.get, key="share_lock")
        is_veiled = st.toggle("Results only after a click", key="share_veil", help="So that students guess first.")
    return TeacherSettings(frozenset(hidden), frozenset(locked), " ".join(question.split()), is_veiled)
