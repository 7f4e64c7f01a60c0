"""The table of all runs, read in a thread of its own: all pages share it, and none waits long for a newer one."""

import threading
import time
from collections.abc import Callable

import pandas as pd
import streamlit as st

from app.jobs import runs

FRESH_SECONDS = 5.0  # after which the table is read again
PATIENCE_SECONDS = 0.5  # after which a page takes the last table
POLL_SECONDS = 0.1


class RunIndex:
    """The runs as `runs.list_runs` last found them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._table: pd.DataFrame | None = None
        self._problem: Exception | None = None
        self._read_at, self._progress = 0.0, (0, 0)

    def get(self, on_progress: Callable[[int, int], None]) -> pd.DataFrame:
        """The table. on_progress: called with (runs read, runs to read) while there is none yet.

        OSError where the folders cannot be read.
        """
        reader = self._refresh()
        end = time.monotonic() + PATIENCE_SECONDS
        while reader is not None and reader.is_alive():
            reader.join(POLL_SECONDS)
            if self._table is not None and time.monotonic() > end:
                break
            if self._table is None and reader.is_alive():
                on_progress(*self._progress)
        if self._table is None:
            why = getattr(self._problem, "strerror", None) or "the log of the server has the reason"
            raise OSError(0, f"The folders of runs cannot be read: {why}") from self._problem
        return self._table

    def _refresh(self) -> threading.Thread | None:
        """The thread that reads, which is started where the table is too old; None where it is fresh."""
        with self._lock:
            if self._reader is not None and self._reader.is_alive():
                return self._reader
            if self._table is not None and time.monotonic() - self._read_at < FRESH_SECONDS:
                return None
            self._reader = threading.Thread(target=self._read, daemon=True, name="runs")
            self._reader.start()
            return self._reader

    def _read(self) -> None:
        try:
            self._table = runs.list_runs(self._note)
        except OSError as problem:
            self._problem = problem
        self._read_at = time.monotonic()

    def _note(self, done: int, total: int) -> None:
        self._progress = done, total


@st.cache_resource
def run_index() -> RunIndex:
    """The table of all runs that are shipped or on this server."""
    return RunIndex()
