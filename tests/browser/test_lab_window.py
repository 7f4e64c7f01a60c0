"""The window around the live lab: nothing from elsewhere, nothing cut off, and files that are what they say."""

import struct
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest
from lab_window import GAUSSIANS, QUICK, change, chart, open_lab, press, slider

# What Streamlit's own page asks for beside a page that is not at the root, before it looks at the root.
PROBES = ("/lab/_stcore/health", "/lab/_stcore/host-config")
CUT_OFF = """() => [...document.querySelectorAll('[data-testid=stMain] svg text, [data-testid=stMain] p')]
    .filter(text => text.getBoundingClientRect().right > innerWidth + 1).map(text => text.textContent)"""
DIAGRAM = 'svg[aria-label^="Reliability diagram of"], [aria-label^="Reliability diagram of"] svg'
FITS = "document.scrollingElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def lab(context, server):
    """A tab on the lab for tests that leave it as it was."""
    tab = context.new_page()
    open_lab(tab, server, **QUICK)
    yield tab
    tab.close()


def test_a_visit_asks_no_other_host_for_anything_and_logs_no_error(page, server):
    addresses, errors = [], []
    page.on("request", lambda request: addresses.append(request.url))
    page.on("websocket", lambda socket: addresses.append(socket.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append((line.text, line.location["url"])) if line.type == "error" else None)
    page.goto(server)
    page.get_by_role("heading", name="Learning to defer").wait_for()
    open_lab(page, server, data=GAUSSIANS, seeds=1)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    hosts = {urlsplit(address).hostname for address in addresses if not address.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}
    assert len(addresses) > 10
    assert [error for error in errors if urlsplit(error[1]).path not in PROBES] == []


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (800, 1000), (390, 844)])
def test_nothing_is_wider_than_the_window(page, server, width, height):
    page.set_viewport_size({"width": width, "height": height})
    page.goto(server)
    page.get_by_role("img").first.wait_for()
    page.wait_for_function(FITS)
    open_lab(page, server, **QUICK, asymmetric="true")
    page.wait_for_function(f"{FITS} && ({CUT_OFF})().length === 0")


def test_on_a_narrow_window_the_sliders_are_folded_and_the_diagrams_stacked(page, server):
    page.set_viewport_size({"width": 800, "height": 1000})
    open_lab(page, server, **QUICK)
    assert not slider(page, "3").is_visible()
    page.get_by_text("Expert's accuracy, by true class").click()
    assert slider(page, "3").is_visible()
    boxes = diagrams(page)
    assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in pairwise(boxes))
    page.wait_for_function(FITS)


def test_a_move_changes_no_place_of_a_control_or_a_diagram(page, server):
    page.set_viewport_size({"width": 1280, "height": 720})
    open_lab(page, server, **QUICK)
    before = [slider(page, "0").bounding_box(), *diagrams(page)]
    change(page, lambda: press(page, "3", "Home"))
    after = [slider(page, "0").bounding_box(), *diagrams(page)]
    for old, new in zip(before, after, strict=True):
        assert new == pytest.approx(old, abs=1)


def diagrams(page):
    """The boxes of the reliability diagrams."""
    return [one.bounding_box() for one in page.locator(DIAGRAM).all()]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1366, 768), (1400, 900)])
def test_all_sliders_and_all_diagrams_are_on_one_screen_and_of_one_size(page, server, width, height):
    page.set_viewport_size({"width": width, "height": height})
    open_lab(page, server, **QUICK, digits_3=0)
    sliders = [slider(page, str(digit)).bounding_box() for digit in range(10)]
    boxes = diagrams(page)
    assert len(boxes) == 3
    for box in [*sliders, *boxes]:
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    assert len({(round(box["y"]), round(box["width"]), round(box["height"])) for box in boxes}) == 1
    plots = page.locator(f"{DIAGRAM} .mark-group.role-frame.root > g > path.background").all()
    sizes = [plot.bounding_box() for plot in plots[:3]]
    assert len({(round(size["width"]), round(size["height"])) for size in sizes}) == 1
    # As many pixels to 100 % on one axis as on the other: 1.2 units wide, 1.34 high.
    assert sizes[0]["width"] / 1.2 == pytest.approx(sizes[0]["height"] / 1.34, rel=0.02)


def test_a_chart_can_be_downloaded_as_a_picture(lab):
    chart(lab, "Reliability diagram of Softmax odds").hover()
    with lab.expect_download() as download:
        lab.get_by_role("button", name="Download as PNG: Reliability diagram of Softmax odds").click()
    data = Path(download.value.path()).read_bytes()
    assert download.value.suggested_filename.endswith(".png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert min(width, height) >= 250


def test_the_table_behind_the_charts_can_be_downloaded(lab):
    with lab.expect_download() as download:
        lab.get_by_role("button", name="Reliability diagrams (CSV)").click()
    assert download.value.suggested_filename == "reliability.csv"
    table = pd.read_csv(download.value.path())
    assert table.groupby("of")["cases"].sum().to_dict() == pytest.approx(
        dict.fromkeys(["odds", "proxy", "sigmoid"], 359)
    )
