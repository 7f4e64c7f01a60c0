"""The server's own limits: how much a session may upload, and nothing about it for strangers."""

import asyncio
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from app.kit import server
from benchmarks.serving import free_port, start_server
from benchmarks.session import Session


@pytest.fixture
def manager():
    return MemoryUploadedFileManager("/upload")


def upload(manager, session, file_id, size):
    manager.add_file(session, UploadedFileRec(file_id, "name", "type", bytes(size)))


def held(manager):
    return {name: list(files) for name, files in manager.file_storage.items() if files}


def test_a_session_cannot_upload_more_than_its_share_whatever_page_it_is_on(manager):
    server.limit_uploads(manager, 100)
    upload(manager, "one", "a", 60)
    with pytest.raises(HTTPException) as refused:
        upload(manager, "one", "b", 41)
    assert refused.value.status_code == 413
    upload(manager, "one", "c", 40)
    upload(manager, "another", "d", 100)
    manager.remove_file("one", "a")
    upload(manager, "one", "e", 60)
    assert held(manager) == {"one": ["c", "e"], "another": ["d"]}


def test_metrics_are_off_once_a_visitor_has_come(tmp_path):
    port = free_port()
    process = start_server(port, tmp_path / "log")

    async def visit():
        session = await Session.open(f"http://127.0.0.1:{port}", "about")
        await session.run()
        await session.close()

    try:
        with ThreadPoolExecutor() as apart:  # a browser test before this one may have left its loop in this thread
            apart.submit(asyncio.run, visit()).result()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/metrics") as answer:
            assert answer.read().strip() == b"# EOF"
    finally:
        process.kill()
        process.wait()
