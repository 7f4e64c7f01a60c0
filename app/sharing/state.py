"""What sharing keeps in the session: the address that it began with, and the teacher's settings that were in it."""

from collections.abc import Hashable, Mapping

import streamlit as st

from app.sharing.teaching import TeacherSettings

ENTERED = "share_prediction"  # of the widget in which a student enters a prediction
_ARRIVAL, _WAITING, _TEACHER, _REVEALED = "share_arrival", "share_waiting", "share_teacher", "share_revealed"
_PREDICTION, _EMPTY, _PAGE = "share_predicted", "share_prediction_empty", "share_page"


def has_arrived() -> bool:
    """Whether the address that the session began with has been read."""
    return _ARRIVAL in st.session_state


def set_arrival(given: Mapping[str, str]) -> None:
    """Keep the address that the session began with, until its page has been drawn."""
    st.session_state[_ARRIVAL] = dict(given)


def take_arrival() -> dict[str, str]:
    """What the session began with, once; then nothing."""
    given, st.session_state[_ARRIVAL] = st.session_state[_ARRIVAL], {}
    return given


def is_another_page(page: str) -> bool:
    """Whether the session was on another page than this one in its last run; from now on it is on this one."""
    last = st.session_state.get(_PAGE, page)
    st.session_state[_PAGE] = page
    return last != page


def waiting() -> dict[str, str]:
    """Settings in the address whose widgets have not been drawn yet."""
    return st.session_state.get(_WAITING, {})


def set_waiting(settings: Mapping[str, str]) -> None:
    """Keep these until their widgets are drawn."""
    st.session_state[_WAITING] = dict(settings)


def teacher() -> TeacherSettings:
    """The settings of the teacher whose link began the session; empty without one."""
    return st.session_state.get(_TEACHER, TeacherSettings())


def set_teacher(settings: TeacherSettings) -> None:
    """Follow these settings from now on."""
    st.session_state[_TEACHER] = settings


def is_revealed(settings: Hashable) -> bool:
    """Whether the visitor has asked for the results of these settings."""
    return st.session_state.get(_REVEALED) == settings


def reveal(settings: Hashable) -> None:
    """Show the results of these settings."""
    st.session_state[_REVEALED] = settings


def predict(settings: Hashable) -> None:
    """Keep the prediction that was entered and show the results of these settings, unless nothing was entered."""
    entered = st.session_state.get(ENTERED)
    st.session_state[_EMPTY] = entered is None
    if entered is not None:
        st.session_state[_PREDICTION] = f"{entered:g}" if isinstance(entered, float) else str(entered)
        reveal(settings)


def prediction() -> str:
    """The last prediction; "" without one."""
    return st.session_state.get(_PREDICTION, "")


def is_empty_prediction() -> bool:
    """Whether a prediction was last sent without anything entered."""
    return st.session_state.get(_EMPTY, False)
