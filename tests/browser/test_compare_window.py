"""Comparing in a real browser, by mouse and by keyboard: shipped runs, and predictions that one brings along."""

import json
import re

import numpy as np
import pytest
from lab_window import wait_for_run
from playwright.sync_api import expect

from l2d_core.calibration.binned import calibration_error
from l2d_core.common.paths import PRETRAINED
from l2d_core.comparison.author_logs import read_logged
from l2d_core.surrogates import SURROGATES

THIRD = "cifar10-asymmetric_softmax"
SCORES = PRETRAINED / "runs" / THIRD / "scores_test.npz"
PATIENCE_MS = 60_000
TWO = "run=shipped/cifar10-softmax&run=shipped/cifar10-one_vs_all"
CHARTS = '[data-testid="stVegaLiteChart"] svg.marks'


@pytest.fixture
def comparison(page, server):
    page.goto(f"{server}/compare?{TWO}")
    expect(page.locator(CHARTS)).to_have_count(6, timeout=PATIENCE_MS)
    return page


def told(page, start):
    """The text for screen readers that starts like this."""
    return page.locator(".for-screen-readers").filter(has_text=re.compile(f"^{start}"))


def chart(page, name):
    return page.locator(f'[class*="st-key-compare-{name}"] svg.marks')


def click_into(page, name, across, down):
    found = chart(page, name)
    found.scroll_into_view_if_needed()
    box = found.bounding_box()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def found_run(page):
    """The table of runs, once it has drawn the one run that was looked for."""
    table = page.locator('[class*="st-key-runs-"] canvas').first
    expect(table.locator("table")).to_have_attribute("aria-rowcount", "2", timeout=PATIENCE_MS)
    return table


def test_the_price_moves_the_operating_point_and_a_link_opens_the_same(comparison, context):
    before = told(comparison, "Accuracy less the cost").text_content()
    slider = comparison.get_by_role("slider", name="Cost of asking")
    for _ in range(5):
        slider.press("ArrowRight")
    expect(told(comparison, "Accuracy less the cost")).not_to_have_text(before, timeout=PATIENCE_MS)
    comparison.wait_for_url(re.compile(r"price=0\.05"))
    other = context.new_page()
    other.goto(comparison.url)
    told(other, "Accuracy less the cost").wait_for(state="attached", timeout=PATIENCE_MS)
    after = told(other, "Accuracy less the cost").text_content()
    expect(told(comparison, "Accuracy less the cost")).to_have_text(after, timeout=PATIENCE_MS)
    other.close()


def test_a_click_on_a_bin_shows_its_cases_and_marked_cases_are_in_every_chart(comparison):
    cases = comparison.get_by_text(re.compile(r"of 10,000 test cases"))
    expect(cases).to_have_count(0)
    click_into(comparison, "reliability-0", 0.55, 0.3)
    expect(cases).to_be_visible(timeout=PATIENCE_MS)
    table = comparison.locator('[class*="st-key-cases-"] canvas').first
    table.scroll_into_view_if_needed()
    expect(table.locator("td").first).to_be_attached()
    marks = chart(comparison, "reliability-1").locator("path[stroke='#E69F00']")
    expect(marks).to_have_count(0)
    box = table.bounding_box()
    comparison.mouse.click(box["x"] + 15, box["y"] + 52)
    expect(marks).to_have_count(1, timeout=PATIENCE_MS)
    comparison.get_by_role("button", name="Clear", exact=True).click()
    expect(cases).to_have_count(0, timeout=PATIENCE_MS)
    click_into(comparison, "reliability-0", 0.55, 0.3)  # the same bin again
    expect(cases).to_be_visible(timeout=PATIENCE_MS)


def test_a_row_of_the_table_of_runs_adds_a_run(page, server):
    page.goto(f"{server}/compare?run=shipped/cifar10-softmax")
    page.get_by_text(re.compile(r"Choose runs \(\d+\)")).click(timeout=PATIENCE_MS)
    page.get_by_role("textbox", name="Find").fill("shipped asymmetric")
    page.get_by_role("textbox", name="Find").press("Enter")
    table = found_run(page)
    box = table.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 52)
    expect(page.get_by_label("Search: All runs")).to_be_visible()
    expect(page.get_by_label("Download as CSV: All runs")).to_be_hidden()  # the names of others may be formulas
    page.mouse.click(box["x"] + 15, box["y"] + 52)
    page.wait_for_url(re.compile(r"cifar10-asymmetric_softmax"), timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="cifar10-asymmetric_softmax")).to_be_visible()


def test_the_report_opens_from_disk_with_all_charts_and_no_network(comparison, context, tmp_path):
    with comparison.expect_download(timeout=PATIENCE_MS) as download:
        comparison.get_by_role("button", name="Report (HTML)").click()
    download.value.save_as(tmp_path / "report.html")
    reader, asked = context.new_page(), []
    reader.on("request", lambda request: asked.append(request.url))
    reader.goto((tmp_path / "report.html").as_uri())
    expect(reader.locator("svg")).to_have_count(6)
    assert len(asked) == 1
    reader.close()


def tab_to(page, wanted, key="Tab"):
    """Go on with this key until the element has the focus."""
    for _ in range(150):
        page.keyboard.press(key)
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError(f"{key} never reaches {wanted}")


def test_by_keyboard_alone_one_chooses_a_run_takes_one_away_moves_the_price_and_takes_the_numbers(comparison):
    page, keyboard = comparison, comparison.keyboard
    tab_to(page, page.locator(".st-key-all-runs summary"))
    keyboard.press("Enter")
    find = page.get_by_role("textbox", name="Find")
    expect(find).to_be_visible()
    tab_to(page, find)
    keyboard.type("shipped asymmetric")
    keyboard.press("Enter")
    tab_to(page, found_run(page))
    keyboard.press("ArrowDown")
    keyboard.press("Shift+Space")
    page.wait_for_url(re.compile(THIRD), timeout=PATIENCE_MS)
    expect(page.locator(CHARTS)).to_have_count(8, timeout=PATIENCE_MS)
    tab_to(page, page.get_by_role("button", name="cifar10-softmax"), "Shift+Tab")
    keyboard.press("Enter")
    expect(page.locator(CHARTS)).to_have_count(6, timeout=PATIENCE_MS)
    tab_to(page, page.get_by_role("slider", name="Cost of asking"))
    for _ in range(5):
        keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"price=0\.05"), timeout=PATIENCE_MS)
    tab_to(page, page.get_by_role("button", name="Key numbers (CSV)"))
    with page.expect_download(timeout=PATIENCE_MS) as download:
        keyboard.press("Enter")
    text = download.value.path().read_text()
    assert THIRD in text
    assert "cifar10-softmax" not in text


def open_uploads(page):
    """Open the panel of one's own predictions, which closes when a file is taken."""
    panel = page.locator(".st-key-own-predictions details")
    if panel.get_attribute("open", timeout=PATIENCE_MS) is None:
        panel.locator("summary").click()
    expect(panel).to_have_attribute("open", "")


def bring(page, *files):
    """Upload (name, bytes)."""
    open_uploads(page)
    payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files]
    wait_for_run(page)  # before, the field of an earlier run may be there too
    field = page.locator("input[type=file]")
    expect(field).to_have_count(1, timeout=PATIENCE_MS)
    field.set_input_files(payload, timeout=PATIENCE_MS)


def test_an_upload_that_is_forgotten_while_it_is_compared_leaves_the_rest_as_it_was(comparison):
    page = comparison
    before = told(page, "System accuracy against").text_content()
    bring(page, ("mine.npz", SCORES.read_bytes()))
    expect(page.locator(CHARTS)).to_have_count(8, timeout=PATIENCE_MS)
    page.get_by_role("combobox", name="Baseline").click()
    page.get_by_role("option", name="mine").click()
    expect(page.get_by_text(re.compile("than mine|and mine")).first).to_be_visible(timeout=PATIENCE_MS)
    open_uploads(page)
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("mine was removed from the comparison.")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(CHARTS)).to_have_count(6, timeout=PATIENCE_MS)
    expect(told(page, "System accuracy against")).to_have_text(before)
    expect(page.get_by_role("button", name="mine")).to_have_count(0)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    slider = page.get_by_role("slider", name="Cost of asking")
    slider.press("ArrowRight")
    expect(told(page, "System accuracy against")).not_to_have_text(before, timeout=PATIENCE_MS)


def logs_of(surrogate, seed, cases=900):
    """Two lists as the authors log them: K+1 probabilities per case, and who was right, in whole batches."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1.5, (cases, 4))
    sigmoids, exponentials = 1 / (1 + np.exp(-logits)), np.exp(logits)
    rows = sigmoids if surrogate == "one_vs_all" else exponentials / exponentials.sum(axis=1, keepdims=True)
    right = generator.random(cases + 60) < 0.6
    return json.dumps(rows.tolist()), json.dumps(right.astype(int).tolist())


def test_the_authors_logs_are_brought_said_what_they_are_and_compared_with_the_numbers_of_the_library(page, server):
    pairs = {name: logs_of(name, seed) for seed, name in enumerate(("softmax", "one_vs_all"))}
    pairs["one_vs_all"] = tuple(json.dumps(text) for text in pairs["one_vs_all"])  # JSON in a JSON string
    page.goto(f"{server}/compare?run=shipped/cifar10-softmax")
    page.get_by_role("button", name="cifar10-softmax").click(timeout=PATIENCE_MS)
    page.get_by_text("Choose one of the runs above").wait_for(timeout=PATIENCE_MS)
    for name, (rows, right) in pairs.items():
        bring(page, (f"{name}_confs.json", rows.encode()), (f"{name}_acc.json", right.encode()))
        page.get_by_role("combobox", name="Trained with").click(timeout=PATIENCE_MS)
        page.get_by_role("option", name=SURROGATES[name].title, exact=True).click()
        page.get_by_role("button", name="Use it").click()
        expect(page.locator(".st-key-chip-upload-" + ("1" if name == "softmax" else "2"))).to_be_visible(
            timeout=PATIENCE_MS
        )
    expect(page.locator(CHARTS)).to_have_count(4, timeout=PATIENCE_MS)
    for name, (rows, right) in pairs.items():
        outputs = read_logged(rows.encode(), right.encode(), surrogate=name)
        estimate = outputs.expert_probability(next(iter(SURROGATES[name].estimators))).clip(0, 1)
        ece = calibration_error(estimate, outputs.expert_correct)
        card = page.locator(".systems .kpi").filter(has_text=re.compile(f"^{name}"))
        expect(card.locator("dd").last).to_have_text(f"{100 * ece:.2f} % n = 900, 15 bins")
    expect(page.get_by_text("it is not known whether the machine is right")).to_be_visible()
