"""The shipped networks for skin lesions, which all sessions share: loaded once, aside."""

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from l2d_core.lesions.system import Judge, LesionSystem


def missing_commands() -> list[str]:
    """The commands that make what the page of skin lesions lacks."""
    from l2d_core.lesions import system as lesions

    return lesions.missing_commands()


@st.cache_resource
def load_in_background() -> "Future[LesionSystem]":
    """The shipped networks for skin lesions, on their way or there: loaded once, aside."""
    loading: Future[LesionSystem] = Future()
    # A daemon, which no pool's threads are: a server that is told to end does not first load networks.
    threading.Thread(target=_load_lesions, args=(loading,), daemon=True, name="lesions").start()
    return loading


def _load_lesions(loading: "Future[LesionSystem]") -> None:
    from l2d_core.lesions import system as lesions

    try:
        loading.set_result(lesions.load_system())
    except BaseException as problem:  # whoever waits for it gets it
        loading.set_exception(problem)


@st.cache_resource(max_entries=32, show_spinner=False)
def judge_of(kind: str, accuracy: tuple[float, ...], wrong: str) -> "Judge":
    """The systems for an expert of `lesion_expert`; nothing of any session is in it."""
    from l2d_core.experts.simulated import per_class
    from l2d_core.lesions import system as lesions

    system = load_in_background().result()
    if kind == "sliders":
        return lesions.refit(system, per_class(accuracy, wrong=wrong))
    return lesions.learned_judge(system) if kind == "mixer" else lesions.trained_judge(system)
