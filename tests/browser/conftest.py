"""One server and one real browser for all browser tests, or the reason why there is none."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from benchmarks.chromium import NoBrowser, launch
from benchmarks.serving import APP, free_port, start_server

pytest.register_assert_rewrite("lab_window")
expect.set_options(timeout=30_000)  # as for all that a page is waited for: the machine may be busy


def pytest_collection_modifyitems(items):
    """All tests of this folder drive a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    """A Chromium."""
    with sync_playwright() as playwright:
        try:
            started = launch(playwright)
        except NoBrowser as problem:
            pytest.skip(str(problem))
        yield started
        started.close()


@pytest.fixture(scope="session")
def server(browser, tmp_path_factory):  # noqa: ARG001 (no server where there is no browser)
    """The address of the app, served as a user would serve it; at its end no traceback may be in its log."""
    log = tmp_path_factory.mktemp("server") / "log"
    with _serving(log) as address:
        yield address


@pytest.fixture(scope="session")
def lesion_server(browser, tmp_path_factory):  # noqa: ARG001
    """As `server`, with networks for skin lesions that were made for tests."""
    log = tmp_path_factory.mktemp("lesion-server") / "log"
    with _serving(log, [Path(__file__).with_name("lesion_server.py")]) as address:
        yield address


@contextmanager
def _serving(log, program=APP):
    port = free_port()
    process = start_server(port, log, program=program)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
    printed = log.read_text()
    assert "Traceback" not in printed, printed
    assert "Examining the path" not in printed, printed  # of Streamlit's watcher, which is off


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
