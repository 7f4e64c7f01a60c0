"""A teacher's settings on the page: the question, predictions before results, and the form for a link."""

from collections.abc import Hashable

import streamlit as st

from app.kit.text import plain
from app.sharing import state
from app.sharing.teaching import (
    BETWEEN,
    GROUPS,
    MAX_ANSWERS,
    MAX_QUESTION,
    NUMBER,
    TeacherSettings,
    one_line,
    predicted,
)

PREDICTIONS = {"": "No", NUMBER: "A number", "choice": "One of several answers"}


def draw(teacher: TeacherSettings) -> None:
    """The question to the students, and a way out of the teacher's settings."""
    if not teacher:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="teacher"):
        if teacher.question:
            st.text(teacher.question)  # which comes from an address: text, and never Markdown or HTML
        else:
            st.caption("A teacher's link has set up this page.", width="stretch")
        st.button(
            "All controls",
            icon=":material/lock_open:",
            on_click=state.set_teacher,
            args=(TeacherSettings(),),
            help="Leave the teacher's settings",
        )


def is_revealed(teacher: TeacherSettings, settings: Hashable) -> bool:
    """Whether results of these settings may be shown.

    Where the teacher wants a click or a prediction first, that is asked for here; a prediction that was made is shown.
    """
    if not (teacher.is_veiled or teacher.prediction):
        return True
    if state.is_revealed(settings):
        if prediction := state.prediction():
            st.info(f"You expected: **{plain(prediction)}**", icon=":material/lightbulb:")
        return True
    if teacher.prediction:
        _ask(teacher.prediction, settings)
    else:
        st.info("What do you expect? Decide first, then look.", icon=":material/visibility_off:")
        st.button("Show the results", type="primary", on_click=state.reveal, args=(settings,))
    return False


def _ask(prediction: tuple[str, ...], settings: Hashable) -> None:
    """The form for a prediction; what is entered stays in this session."""
    with st.form("prediction", width=560):
        if prediction == (NUMBER,):
            st.number_input("What do you expect?", value=None, key=state.ENTERED, placeholder="A number")
        else:
            st.radio("What do you expect?", prediction, index=None, format_func=plain, key=state.ENTERED)
        st.form_submit_button("Show the results", type="primary", on_click=state.predict, args=(settings,))
    if state.is_empty_prediction():
        st.caption(":material/info: Enter what you expect first.")


def draw_form() -> TeacherSettings:
    """The form for a link to a class; returns what was filled in."""
    with st.expander("For a class", icon=":material/school:"):
        question = st.text_area("A question to the students", max_chars=MAX_QUESTION, key="share_question")
        prediction = _draw_prediction()
        is_veiled = st.toggle(
            "Results only after a click",
            key="share_veil",
            disabled=bool(prediction),
            help="Students think first, then look. With a prediction, results always wait for it.",
        )
        hidden = st.multiselect("Hide", list(GROUPS), format_func=GROUPS.get, key="share_hide")
        locked = st.multiselect("Lock", list(GROUPS), format_func=GROUPS.get, key="share_lock")
    return TeacherSettings(frozenset(hidden), frozenset(locked), one_line(question), is_veiled, prediction)


def _draw_prediction() -> tuple[str, ...]:
    kind = st.segmented_control(
        "Ask for a prediction", list(PREDICTIONS), default="", format_func=PREDICTIONS.get, required=True,
        key="share_predict", help="Students enter what they expect before they see results. Nobody else sees it.",
    )  # fmt: skip
    if kind != "choice":
        return predicted([kind or ""])
    answers = st.text_area("Answers, one per line", key="share_answers", placeholder="goes up\nstays\ngoes down")
    chosen = predicted(answers.replace(BETWEEN, " ").split("\n"))
    if not chosen:
        st.caption(f"Write two to {MAX_ANSWERS} short answers.")
    return chosen
