"""Uploads are kept in memory only, and freed: by itself the server writes large ones to disk and frees them late."""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from l2d_core.images.archives import MAX_ARCHIVE_BYTES

WAIT_SECONDS, SWEEP_SECONDS = 1.5, 15.0
FORM_BYTES = 2**20  # the most that a form adds to the file in it


def keep_off_disk() -> None:
    """Make the server receive uploads in memory; Starlette would write those above 1 MB to a temporary file."""
    try:
        from starlette.formparsers import MultiPartParser
    except ImportError:  # Streamlit on another server, which reads them into memory
        return
    MultiPartParser.spool_max_size = MAX_ARCHIVE_BYTES + FORM_BYTES


def forget_uploads(file_ids: Iterable[str]) -> None:
    """Remove the bytes of these uploads of the running session; those already removed are ignored."""
    context = get_script_run_ctx()
    if context is None:
        return
    for file_id in file_ids:
        # The abstract manager lacks the method: one that keeps files elsewhere would remove them in its own way.
        remove = getattr(context.uploaded_file_mgr, "remove_file", None)
        if remove is not None:
            remove(session_id=context.session_id, file_id=file_id)


def give_back() -> None:
    """Make the C library and pyarrow return free memory to the system, soon after the run that has freed it ends."""
    if sys.platform.startswith("linux"):
        timer = threading.Timer(WAIT_SECONDS, _trim)
        timer.daemon = True
        timer.start()


def free_closed_sessions() -> None:
    """From now on free sessions soon after the time in which their closed tab can be resumed.

    By itself Streamlit forgets them only when the next tab is closed.
    """
    threading.Thread(target=_sweep, daemon=True, name="closed sessions").start()


def _sweep() -> None:
    while True:
        time.sleep(SWEEP_SECONDS)
        if runtime.exists():
            server: Any = runtime.get_instance()  # what follows is no public interface of Streamlit's
            storage = getattr(getattr(server, "_session_mgr", None), "_session_storage", None)
            server._get_async_objs().eventloop.call_soon_threadsafe(free_expired, storage)


def free_expired(storage: Any) -> None:
    """Shut down the sessions in Streamlit's storage whose time is over, which removes their uploads."""
    expire = getattr(getattr(storage, "_cache", None), "expire", None)
    expired = list(expire() or ()) if expire else []
    for _, info in expired:
        info.session.shutdown()
    if expired:
        del info
        expired.clear()
        gc.collect()  # sessions are in cycles of references
        _trim()


def _trim() -> None:
    if "pyarrow" in sys.modules:  # which keeps what it has freed in a pool of its own
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # in glibc; other C libraries may lack it
    if trim is not None:
        trim(0)
