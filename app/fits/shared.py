"""Shared by all sessions: the lab's fits, the processes that run them, and their start in the background."""

import gc
import threading

import streamlit as st

from app.fits.board import FitBoard
from app.fits.workers import Workers

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
    return Workers("app.fits.experiment:run")


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
        from app.fits import experiment  # noqa: F401

        gc.collect()
        gc.freeze()  # what is imported stays: the collector need not look through it again
    finally:
        gc.set_threshold(*_USUAL_THRESHOLDS)
