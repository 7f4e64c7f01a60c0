"""Uploads in memory alone, and let go of: by itself the server writes large ones to disk, and keeps all to the end."""

import ctypes
import sys
import threading
from collections.abc import Iterable

from streamlit.runtime.scriptrunner import get_script_run_ctx

from l2d_core.images.archives import MAX_ARCHIVE_BYTES

WAIT_SECONDS = 1.5
FORM_BYTES = 2**20  # what a form adds to the file in it


def keep_off_disk() -> None:
    """Have the server receive uploads in memory; Starlette would put what is above 1 MB into a temporary file."""
    try:
        from starlette.formparsers import MultiPartParser
    except ImportError:  # Streamlit on another server, which reads them into memory
        return
    MultiPartParser.spool_max_size = MAX_ARCHIVE_BYTES + FORM_BYTES


def forget_uploads(file_ids: Iterable[str]) -> None:
    """Remove the bytes of these uploads of the session that is running; those that are gone already are passed over."""
    context = get_script_run_ctx()
    if context is None:
        return
    for file_id in file_ids:
        # Not of the abstract manager: one that keeps files elsewhere would have to remove them in its own way.
        remove = getattr(context.uploaded_file_mgr, "remove_file", None)
        if remove is not None:
            remove(session_id=context.session_id, file_id=file_id)


def give_back() -> None:
    """Have the C library return what is free to the system, soon: once the run that lets go of it is over."""
    if sys.platform.startswith("linux"):
        timer = threading.Timer(WAIT_SECONDS, _trim)
        timer.daemon = True
        timer.start()


def _trim() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, others need not
    if trim is not None:
        trim(0)
