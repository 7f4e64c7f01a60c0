"""What no setting of Streamlit covers: uploads within limits and freed in time, and no metrics."""

import threading

import streamlit as st
from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.stats import StatsManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from app.kit import memory

MAX_HELD = 2  # a session's uploads together, in files of the largest size


@st.cache_resource
def prepare() -> None:
    """Set the server up, once."""
    memory.keep_off_disk()
    if not runtime.exists():  # pages in a test
        return
    memory.free_closed_sessions()
    server = runtime.get_instance()
    switch_off_metrics(server.stats_mgr)
    if isinstance(server.uploaded_file_mgr, MemoryUploadedFileManager):  # another kind has limits of its own
        limit_uploads(server.uploaded_file_mgr, MAX_HELD * config.get_option("server.maxUploadSize") * 2**20)


def switch_off_metrics(stats: StatsManager) -> None:
    """Have `/_stcore/metrics`, which is open to everybody, report nothing."""
    stats.registered_families = list
    stats.get_stats = lambda family_names=None: {}


def limit_uploads(manager: MemoryUploadedFileManager, max_bytes: int) -> None:
    """Refuse (413) an upload with which a session would hold more than max_bytes."""
    from starlette.exceptions import HTTPException

    add, lock = manager.add_file, threading.Lock()

    def add_within_limit(session_id: str, file: UploadedFileRec) -> None:
        with lock:
            held = manager.file_storage.get(session_id, {}).values()
            if sum(len(one.data) for one in [*held, file]) > max_bytes:
                raise HTTPException(413, "This session holds too many uploads")
            add(session_id, file)

    manager.add_file = add_within_limit
