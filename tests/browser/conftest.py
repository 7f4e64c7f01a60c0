"""One server and one real browser for all browser tests, or the reason why there is none."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

pytest.register_assert_rewrite("lab_window")

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
# The shell, which has no windows, first: it takes less of the processor for each page.
SYSTEMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    """All tests of this folder drive a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    """Playwright's own Chromium, or else the system's."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        system = next(filter(None, map(shutil.which, SYSTEMS)), None)
        if not Path(own).is_file() and system is None:
            pytest.skip("no browser: neither Playwright's (playwright install chromium) nor a system Chromium")
        started = playwright.chromium.launch(executable_path=own if Path(own).is_file() else system, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def server(browser, tmp_path_factory):  # noqa: ARG001 (no server where there is no browser)
    """The address of the app, served as a user would serve it; at its end no traceback may be in its log."""
    log = tmp_path_factory.mktemp("server") / "log"
    with _serving(["-m", "streamlit", "run", "app/Home.py"], log) as address:
        yield address


@pytest.fixture(scope="session")
def lesion_server(browser, tmp_path_factory):  # noqa: ARG001
    """As `server`, with networks for skin lesions that were made for tests."""
    log = tmp_path_factory.mktemp("lesion-server") / "log"
    with _serving([str(Path(__file__).with_name("lesion_server.py"))], log) as address:
        yield address


@contextmanager
def _serving(call, log):
    port = _free_port()
    command = [sys.executable, *call, f"--server.port={port}"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--server.address=127.0.0.1", "--server.headless=true"], cwd=ROOT, stdout=out, stderr=out
        )
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
    told = log.read_text()
    assert "Traceback" not in told, told
    assert "Examining the path" not in told, told  # of Streamlit's watcher, which is off


@pytest.fixture(scope="session")
def context(browser):
    """A browser profile that all tabs share, so that the page's own files are fetched once."""
    shared = browser.new_context(viewport={"width": 1280, "height": 900})
    shared.set_default_timeout(30_000)
    yield shared
    shared.close()


@pytest.fixture
def page(context):
    """A new tab."""
    tab = context.new_page()
    yield tab
    tab.close()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(url, process, log):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended with {process.returncode}:\n{log.read_text()}"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not answer within {START_SECONDS} s:\n{log.read_text()}")
