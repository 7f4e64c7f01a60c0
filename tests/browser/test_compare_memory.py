"""The server's memory while a visitor of Compare brings large and hostile tables, forgets them, and leaves."""

import time

import numpy as np
import psutil
import pytest
from hostile_tables import nested, parquet, texts
from lab_window import wait_for_run
from playwright.sync_api import expect

from benchmarks.serving import free_port, start_server

MOST_MB, PATIENCE_SECONDS = 200, 240
HOSTILE = {
    "large_string": lambda: texts("large_string"),
    "binary": lambda: texts("binary"),
    "list": lambda: nested("list"),
}
PANEL = "/compare?run=shipped/cifar10-softmax"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def own_server(browser, tmp_path):  # noqa: ARG001
    """A server for this test alone: its address, and its process."""
    port = free_port()
    process = start_server(port, tmp_path / "log")
    yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    process.kill()
    process.wait()


def megabytes(process):
    return process.memory_info().rss / 2**20


def bring(page, data, name="predictions.parquet"):
    field = page.get_by_test_id("stFileUploader").locator("input")
    field.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})


def open_panel(page, address):
    page.goto(address + PANEL)
    page.get_by_text("Own predictions").first.click(timeout=60_000)
    wait_for_run(page)


def assert_is_back(process, before):
    end = time.monotonic() + PATIENCE_SECONDS
    while (grown := megabytes(process) - before) > MOST_MB and time.monotonic() < end:
        time.sleep(1)
    print(f"{grown:.0f} MB above the start")
    assert grown < MOST_MB


def warm(page, address):
    """A small table, forgotten again: what is imported on the way takes memory for good."""
    open_panel(page, address)
    bring(page, parquet())
    page.get_by_role("button", name="Forget").click(timeout=60_000)
    wait_for_run(page)
    time.sleep(3)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_refused_parquet_file_leaves_nothing_in_memory(page, own_server, kind):
    address, process = own_server
    warm(page, address)
    before = megabytes(process)
    bring(page, HOSTILE[kind]())
    expect(page.get_by_test_id("stAlertContentError").first).to_contain_text("'id'", timeout=120_000)
    assert_is_back(process, before)


@pytest.mark.parametrize("end", ["forgotten", "the tab is closed"])
def test_what_a_large_table_took_is_back_when_it_is_gone(context, own_server, end):
    address, process = own_server
    page = context.new_page()
    warm(page, address)
    before = megabytes(process)
    rows = 1_500_000
    ids = np.char.add("case ", np.arange(rows).astype(str))
    bring(page, parquet(rows, ids))
    forget = page.get_by_role("button", name="Forget")
    expect(forget).to_be_visible(timeout=180_000)
    assert megabytes(process) - before > MOST_MB  # or nothing is shown by what follows
    if end == "forgotten":
        forget.click()
        expect(forget).to_have_count(0, timeout=60_000)
    else:
        page.close()
    assert_is_back(process, before)
    page.close()
