"""What all sessions share: data sets, fits and their tables. Nothing here is ever changed after it is made."""

import gc
import threading

import streamlit as st

from fits import FitBoard
from lab_workers import Workers

FITS_KEPT = 24


@st.cache_resource
def fit_board() -> FitBoard:
    """The fits of this server."""
    return FitBoard(FITS_KEPT)


@st.cache_resource
def workers() -> Workers:
    """The processes that run experiments of the live lab."""
    return Workers("lab_experiment:run")


@st.cache_resource
def warm_up() -> threading.Thread:
    """Start all workers, and import torch here, in the background, once, so that the first fit does not wait for it."""
    thread = threading.Thread(target=_load_library, daemon=True, name="warm-up")
    thread.start()
    return thread


def _load_library() -> None:
    workers().start()
    import lab_experiment  # noqa: F401

    gc.freeze()  # what is imported stays: the collector need not look through it again
