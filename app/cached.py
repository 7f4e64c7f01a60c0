"""What all sessions share: data sets, fits and their tables. Nothing here is ever changed after it is made."""

import gc
import threading
from contextlib import suppress

import streamlit as st

from fits import FitBoard

FITS_KEPT = 24


@st.cache_resource
def fit_board() -> FitBoard:
    """The fits of this server."""
    return FitBoard(FITS_KEPT)


@st.cache_resource
def warm_up() -> threading.Thread:
    """Import torch and read the first data set in the background, once, so that the first fit does not wait for it."""
    thread = threading.Thread(target=_load_library, daemon=True, name="warm-up")
    thread.start()
    return thread


def _load_library() -> None:
    import lab_experiment  # noqa: F401
    from l2d_core.datasets import LAB_DATASETS

    first = next(iter(LAB_DATASETS.values()))
    with suppress(OSError, ValueError):  # the page that needs it says what is wrong
        first.load(0, first.default_noise)
    gc.freeze()  # what is imported stays: the collector need not look through it again
