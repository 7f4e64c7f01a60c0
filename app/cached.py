"""What all sessions share: data sets, fits and their tables. Nothing here is ever changed after it is made."""

import gc
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

import streamlit as st

from fits import FitBoard
from lab_workers import Workers

if TYPE_CHECKING:
    from compare_board import Comparison
    from compare_index import RunIndex
    from jobs import JobBoard
    from l2d_core.lesions import Judge, LesionSystem
    from l2d_core.systems import System

FITS_KEPT = 24
WARM_UP_AFTER = 2.0  # seconds: until then the first visitor's browser needs the processors, to draw
_USUAL_THRESHOLDS = gc.get_threshold()
# Until all is imported: the million objects that come with it stay, and looking for garbage among them every time
# that 700 have come takes a fifth of the first visitor's wait.
gc.set_threshold(50_000)


@st.cache_resource
def fit_board() -> FitBoard:
    """The fits of this server."""
    return FitBoard(FITS_KEPT)


@st.cache_resource
def workers() -> Workers:
    """The processes that run experiments of the live lab."""
    return Workers("lab_experiment:run")


@st.cache_resource
def job_board() -> "JobBoard":
    """The trainings of this server, and those in its folder of runs."""
    from jobs import JobBoard
    from lab_settings import DATA_ROOT
    from train_menu import RUNS_ROOT, SCHEDULER

    return JobBoard(RUNS_ROOT, data_root=DATA_ROOT, scheduler=SCHEDULER)


@st.cache_resource
def estimator() -> Workers:
    """The process that times a few steps of a training; one at a time."""
    return Workers("train_estimate:measure", 1)


def lesions_missing() -> list[str]:
    """The commands that make what the page of skin lesions lacks."""
    from l2d_core import lesions

    return lesions.missing_commands()


@st.cache_resource
def lesion_system() -> "Future[LesionSystem]":
    """The shipped networks for skin lesions, on their way or there: loaded once, aside."""
    loading: Future[LesionSystem] = Future()
    # A daemon, which no pool's threads are: a server that is told to end does not first load networks.
    threading.Thread(target=_load_lesions, args=(loading,), daemon=True, name="lesions").start()
    return loading


def _load_lesions(loading: "Future[LesionSystem]") -> None:
    from l2d_core import lesions

    try:
        loading.set_result(lesions.load_system())
    except BaseException as problem:  # whoever waits for it gets it
        loading.set_exception(problem)


@st.cache_resource(max_entries=32, show_spinner=False)
def lesion_judge(kind: str, accuracy: tuple[float, ...], wrong: str) -> "Judge":
    """The systems for an expert of `lesion_expert`; nothing of any session is in it."""
    from l2d_core import lesions
    from l2d_core.experts import per_class

    system = lesion_system().result()
    if kind == "sliders":
        return lesions.refit(system, per_class(accuracy, wrong=wrong))
    return lesions.learned_judge(system) if kind == "mixer" else lesions.trained_judge(system)


@st.cache_resource
def run_index() -> "RunIndex":
    """The table of all runs that are shipped or on this server."""
    from compare_index import RunIndex

    return RunIndex()


def compare_system(row: dict) -> "System":
    """The system of a row of that table. ValueError where it cannot be read."""
    return _compare_system(row["key"], row["changed"], row)


@st.cache_resource(max_entries=24, show_spinner=False)
def _compare_system(key: str, changed: float, _row: dict) -> "System":  # noqa: ARG001 (what it is kept by)
    import compare_runs

    return compare_runs.load_system(_row)


@st.cache_resource(max_entries=8, show_spinner=False)
def comparison(version: tuple, _rows: "list[dict]") -> "Comparison":  # noqa: ARG001 (what it is kept by)
    """The systems of these rows, on the same test cases, for all sessions. ValueError where they cannot be compared."""
    from compare_board import Comparison

    return Comparison([compare_system(row) for row in _rows])


@st.cache_resource
def warm_up() -> threading.Thread:
    """Start all workers, and import torch here, in the background, once, so that the first fit does not wait for it.

    A little later than now: the first visitor's browser, on this machine perhaps, has just got its first page.
    """
    # The workers are fetched here: there, Streamlit would miss the session.
    thread = threading.Timer(WARM_UP_AFTER, _load_library, (workers(),))
    thread.daemon, thread.name = True, "warm-up"
    thread.start()
    return thread


def _load_library(pool: Workers) -> None:
    try:
        pool.start()
        import lab_experiment  # noqa: F401

        gc.collect()
        gc.freeze()  # what is imported stays: the collector need not look through it again
    finally:
        gc.set_threshold(*_USUAL_THRESHOLDS)
