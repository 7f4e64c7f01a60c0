"""Names that would fetch from another host, on every page in a real browser: that host is never asked for anything."""

import http.server
import os
import re
import shutil
import threading

import pytest
from lab_window import wait_for_run
from made_images import encode, picture
from playwright.sync_api import expect

from app.jobs.folder import Record, write_record
from benchmarks.serving import free_port, start_server
from l2d_core.common.paths import PROGRAM

PATIENCE_MS = 120_000
SHIPPED = PROGRAM / "pretrained" / "runs"
RUNS = {"0" * 16: "cifar10-softmax", "1" * 16: "cifar10-one_vs_all"}
# What a visitor's text can be read as: an image or a link in Markdown, HTML, a bare address.
NAMES = ("![x](http://{host}/a)<img src=http://{host}/b>", "[x](http://{host}/c) http://{host}/d")
# A file's name holds no slash, but what is read as one.
FILE = "![x](&#47;&#47;{host}&#47;e)<img src=&#47;&#47;{host}&#47;f>[x](&#47;&#47;{host}&#47;g)"
JUNK = {
    "": "x",
    "learn": "step",
    "lab": "seed",
    "lesions": "x",
    "train": "job",
    "compare": "run",
    "paper": "x",
    "about": "q",
}


@pytest.fixture(scope="module")
def canary():
    """The host that nobody may ask, and what it was asked for."""
    asked = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Note) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.fixture(scope="module")
def address(browser, canary, tmp_path_factory):  # noqa: ARG001 (no server where there is no browser)
    """A server with two ended trainings of such names, and networks for lesions that were made for tests."""
    folder = tmp_path_factory.mktemp("canary")
    for (job_id, run), name in zip(RUNS.items(), NAMES, strict=True):
        shutil.copytree(SHIPPED / run, folder / "runs" / job_id)
        write_record(folder / "runs" / job_id, Record(name.format(host=canary[0]), created=1.0))
    port = free_port()
    environment = {**os.environ, "L2D_RUNS_ROOT": str(folder / "runs"), "L2D_DATA_ROOT": str(folder)}
    program = [PROGRAM / "tests" / "browser" / "lesion_server.py"]
    process = start_server(port, folder / "log", program=program, environment=environment)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture
def page(browser, canary):
    """A tab, in which at the end neither the canary was asked nor a link to it stands; unlike in the control."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(PATIENCE_MS)
    yield tab
    host, asked = canary
    links = tab.locator(f'[href*="{host}"], [src*="{host}"]').count()
    requests, asked[:] = list(asked), []
    tab.close()
    assert (links, requests) == (0, [])


def settled(page):
    wait_for_run(page)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def hover_over_charts(page):
    """Point at the middle of each chart, and along it, so that tooltips are drawn."""
    for chart in page.locator("svg.marks").all():
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        for part in (0.2, 0.35, 0.5, 0.65, 0.8):
            page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)


def unfold(page):
    """Open all that is folded away."""
    page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(one => one.click())")
    settled(page)


def test_the_canary_sings(browser, canary):
    host, asked = canary
    tab = browser.new_page()
    with tab.expect_request(f"http://{host}/b"):
        tab.set_content(NAMES[0].format(host=host))
    tab.wait_for_timeout(500)
    tab.close()
    assert asked == ["/b"]
    asked.clear()


@pytest.mark.parametrize("name", JUNK)
def test_what_an_address_holds_is_text(page, address, canary, name):
    texts = [*NAMES, FILE]
    for text in texts:
        page.goto(f"{address}/{name}")
        settled(page)
        query = page.evaluate("text => encodeURIComponent(text)", text.format(host=canary[0]))
        page.goto(f"{address}/{name}?{JUNK[name]}={query}&ask={query}&hide={query}&{query}={query}")
        settled(page)


def test_trainings_names_are_text_in_the_list_the_cards_and_the_charts_of_train(page, address):
    page.goto(f"{address}/train?" + "&".join(f"job={job_id}" for job_id in RUNS))
    cards = page.locator('[class*="st-key-job-"]')
    expect(cards).to_have_count(2, timeout=PATIENCE_MS)
    settled(page)
    expect(page.get_by_text(re.compile(r"!\[x\]\(http")).first).to_be_attached(timeout=PATIENCE_MS)
    unfold(page)
    hover_over_charts(page)


def test_trainings_names_are_text_in_the_table_the_cards_and_the_charts_of_compare(page, address):
    page.goto(f"{address}/compare?" + "&".join(f"run=here/{job_id}" for job_id in RUNS))
    expect(page.locator("svg.marks").first).to_be_visible(timeout=PATIENCE_MS)
    settled(page)
    expect(page.get_by_text(re.compile(r"!\[x\]\(http")).first).to_be_attached()
    for table in page.get_by_text("Numbers", exact=True).all():
        table.click()
        settled(page)
    unfold(page)
    hover_over_charts(page)


@pytest.mark.parametrize(
    ("end", "data"), [("npz", (SHIPPED / RUNS["0" * 16] / "scores_test.npz").read_bytes()), ("csv", b"a,b\n1,2\n")]
)
def test_the_names_of_predictions_are_text_on_compare(page, address, canary, end, data):
    page.goto(f"{address}/compare?run=shipped/{RUNS['0' * 16]}")
    settled(page)
    page.locator(".st-key-own-predictions details summary").click()
    settled(page)
    name = f"{FILE.format(host=canary[0])}.{end}"
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "application/octet-stream", "buffer": data}]
    )
    expect(page.get_by_text(re.compile(r"!\[x\]\(&#47;")).first).to_be_attached(timeout=PATIENCE_MS)
    settled(page)
    hover_over_charts(page)


def test_the_names_of_images_are_text_on_lesions(page, address, canary):
    page.goto(f"{address}/lesions")
    page.get_by_text("or try the drawn example").wait_for()
    name = FILE.format(host=canary[0])
    files = [(f"{name}.jpg", encode(picture(), "JPEG")), (f"{name}2.jpg", b"broken")]
    page.locator('input[type="file"]').first.set_input_files(
        [{"name": name, "mimeType": "image/jpeg", "buffer": data} for name, data in files]
    )
    expect(page.locator("[role=option]")).to_have_count(2, timeout=PATIENCE_MS)
    settled(page)
    expect(page.locator(".lesion").first).to_contain_text("![x](&#47;")
    expect(page.locator("[role=option]").first).to_contain_text("![x](&#47;")
    unfold(page)
