"""Comparing shipped runs in a real browser: move the price, click into a chart, mark cases, take the report away."""

import re

import pytest
from playwright.sync_api import expect

PATIENCE_MS = 60_000
TWO = "run=shipped/cifar10-softmax&run=shipped/cifar10-one_vs_all"


@pytest.fixture
def comparison(page, server):
    page.goto(f"{server}/compare?{TWO}")
    expect(page.locator('[data-testid="stVegaLiteChart"] svg.marks')).to_have_count(6, timeout=PATIENCE_MS)
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


def test_the_price_moves_the_operating_point_and_a_link_opens_the_same(comparison, context):
    before = told(comparison, "Accuracy less the price").text_content()
    slider = comparison.get_by_role("slider", name="Price of asking")
    for _ in range(5):
        slider.press("ArrowRight")
    expect(told(comparison, "Accuracy less the price")).not_to_have_text(before, timeout=PATIENCE_MS)
    comparison.wait_for_url(re.compile(r"price=0\.05"))
    other = context.new_page()
    other.goto(comparison.url)
    told(other, "Accuracy less the price").wait_for(state="attached", timeout=PATIENCE_MS)
    after = told(other, "Accuracy less the price").text_content()
    expect(told(comparison, "Accuracy less the price")).to_have_text(after, timeout=PATIENCE_MS)
    other.close()


def test_a_click_on_a_bin_shows_its_cases_and_marked_cases_are_in_every_chart(comparison):
    cases = comparison.get_by_text(re.compile(r"of 10,000 test cases"))
    expect(cases).to_have_count(0)
    click_into(comparison, "reliability-0", 0.55, 0.3)
    expect(cases).to_be_visible(timeout=PATIENCE_MS)
    table = comparison.locator('[class*="st-key-cases-"] canvas').first
    table.scroll_into_view_if_needed()
    comparison.wait_for_timeout(500)  # the table draws itself on a canvas, which says nothing of when it is ready
    marks = chart(comparison, "reliability-1").locator("path[stroke='#E69F00']")
    expect(marks).to_have_count(0)
    box = table.bounding_box()
    comparison.mouse.click(box["x"] + 15, box["y"] + 52)
    expect(marks).to_have_count(1, timeout=PATIENCE_MS)
    comparison.get_by_role("button", name="No cases").click()
    expect(cases).to_have_count(0, timeout=PATIENCE_MS)
    click_into(comparison, "reliability-0", 0.55, 0.3)  # the same bin again
    expect(cases).to_be_visible(timeout=PATIENCE_MS)


def test_a_row_of_the_table_of_runs_adds_a_run(page, server):
    page.goto(f"{server}/compare?run=shipped/cifar10-softmax")
    page.get_by_text(re.compile(r"Choose among \d+ runs")).click(timeout=PATIENCE_MS)
    page.get_by_role("textbox", name="Find").fill("shipped asymmetric")
    page.get_by_role("textbox", name="Find").press("Enter")
    page.wait_for_timeout(1500)
    table = page.locator('[class*="st-key-runs-"] canvas').first
    box = table.bounding_box()
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
