"""The lesson in the session: which step is shown, the settings of all steps, and the handout."""

from collections.abc import Mapping

import streamlit as st

WARM_UP = "0"
# Name in a link -> title on the control.
STEPS = {
    WARM_UP: "Warm-up",
    "1": "1 Why ask?",
    "2": "2 Which cases?",
    "3": "3 Calibration",
    "4": "4 Softmax odds",
    "5": "5 The proxy",
    "6": "6 One-vs-all",
    "7": "7 Discrimination",
    "8": "8 Risk",
}
STEP = "step"
# Of all steps, in their order, with where each starts: a link holds those that were moved.
SETTINGS: Mapping[str, int | float] = {
    "asked": 10,
    "vehicles": 95,
    "animals": 20,
    "n": 500,
    "bins": 15,
    "boldness": 1.0,
    "draw": 0,
    "right": 90,
    "first": 50,
    "slip": 0.3,
    "proxy": 90,
    "first_half": 75,
    "groups": 4,
    "risk": 5,
}
_HANDOUTS = "learn_handouts"
_COMMITTED, _MACHINE, _INCOMPLETE = "learn_committed", "learn_machine", "learn_machine_incomplete"
NUM_PHOTOGRAPHS = 10


def key_of(name: str) -> str:
    """The key, in the session and in the address, of one of SETTINGS."""
    if name not in SETTINGS:
        raise ValueError(f"the setting must be one of {', '.join(SETTINGS)}, got {name}")
    return f"learn_{name}"


def first() -> str:
    """The step that the lesson starts with."""
    return next(iter(STEPS))


def last() -> str:
    """The step that the lesson ends with."""
    return list(STEPS)[-1]


def place_of(step: str) -> int:
    """The place of a step, from 0."""
    return list(STEPS).index(step)


def begin() -> None:
    """Start with the first step if none is chosen: on a quick way through pages the browser may send that none is."""
    if st.session_state.get(STEP) is None:
        st.session_state[STEP] = first()


def go(by: int) -> None:
    """Move by this many steps, before the page is drawn; from the current one, so that two quick clicks both count."""
    place = place_of(st.session_state[STEP]) + by
    st.session_state[STEP] = list(STEPS)[min(max(place, 0), len(STEPS) - 1)]


def handouts() -> tuple[str, str]:
    """The handouts that were made last, for students and with the answers; empty without one."""
    return st.session_state.get(_HANDOUTS, ("", ""))


def set_handouts(for_students: str, with_answers: str) -> None:
    """Keep both handouts, to be saved."""
    st.session_state[_HANDOUTS] = (for_students, with_answers)


def photograph_key(place: int) -> str:
    """The key of the reader's answer on a photograph of the warm-up."""
    return f"learn_photograph_{place}"


def answer_machine() -> None:
    """Keep the answers on all photographs, unless one is missing."""
    answers = [st.session_state.get(photograph_key(place)) for place in range(NUM_PHOTOGRAPHS)]
    st.session_state[_INCOMPLETE] = None in answers
    if None not in answers:
        st.session_state[_MACHINE] = tuple(answers)


def machine_answers() -> tuple[str, ...]:
    """The answers that were checked; () while there are none."""
    return st.session_state.get(_MACHINE, ())


def is_machine_incomplete() -> bool:
    """Whether answers were last sent with one missing."""
    return st.session_state.get(_INCOMPLETE, False)


def forget_machine() -> None:
    """Start the warm-up anew."""
    st.session_state[_MACHINE] = ()
    for place in range(NUM_PHOTOGRAPHS):
        st.session_state[photograph_key(place)] = None


def choice_key(step: str) -> str:
    """The key of the chosen answer to the question of a step."""
    return f"learn_choice_{step}"


def commit(step: str) -> None:
    """Keep the chosen answer to the question of a step, for good."""
    if choice := st.session_state.get(choice_key(step)):
        st.session_state[_COMMITTED] = committed() | {step: choice}


def committed() -> dict[str, str]:
    """The answers that the reader has committed to, by step."""
    return st.session_state.get(_COMMITTED, {})
