"""A real Chromium that measures Streamlit pages from inside: opens them, moves their sliders, and reads the probe."""

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chromium import launch
from playwright.sync_api import Locator, Page, Playwright

PROBE = Path(__file__).with_name("probe.js")
QUIET_MS = 700
PATIENCE_MS = 60_000


@dataclass(frozen=True)
class Opening:
    """Milliseconds from the start of the navigation. started_at: that start, on the wall clock in seconds."""

    started_at: float
    first_heading: float
    first_chart: float | None
    last_chart: float | None
    last_change: float


@dataclass(frozen=True)
class Move:
    """One slider move: milliseconds from the key, except fit_ms; bytes as on the websocket, both ways.

    last_chart: when the last chart that shows something new was on the screen. changed: how many of the `charts` do.
    """

    sent: float
    last_message: float
    last_chart: float
    fit_ms: float
    bytes_in: int
    bytes_out: int
    changed: int
    charts: int

    @property
    def beyond_fit(self) -> float:
        return self.last_chart - self.fit_ms


@contextmanager
def cold_page(playwright: Playwright) -> Iterator[Page]:
    """A page of a browser that was just started, with an empty cache, and the probe in it."""
    browser = launch(playwright)
    try:
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        page.add_init_script(path=PROBE)
        yield page
    finally:
        browser.close()


def open_page(page: Page, url: str, *, has_charts: bool = True) -> Opening:
    """Go there and wait until the page has settled, with all its charts drawn where it has any."""
    page.goto(url)
    if has_charts:
        page.wait_for_function("bench.allDrawn()", timeout=PATIENCE_MS, polling=50)
    _settle(page)
    noted = page.evaluate(
        "({started: performance.timeOrigin, drawn: bench.drawnAt(), first: bench.firstChart,"
        " heading: bench.firstHeading, change: bench.lastChange})"
    )
    _raise_where_broken(page)
    drawn = [time for time in noted["drawn"] if time is not None]
    return Opening(
        noted["started"] / 1000,
        noted["heading"] or 0.0,
        noted["first"],
        max(drawn, default=None),
        noted["change"],
    )


def move(page: Page, slider: Locator, key: str) -> Move:
    """Press `key` on the slider, wait until the page has settled, and say what happened when."""
    slider.focus()
    before = page.evaluate("bench.fingerprints()")
    page.evaluate("bench.reset()")
    page.keyboard.press(key)
    _settle(page)
    noted = page.evaluate(
        "({pressed: bench.pressed, sent: bench.sent, received: bench.lastReceived, bytesIn: bench.bytesIn,"
        " bytesOut: bench.bytesOut, drawn: bench.drawnAt(), after: bench.fingerprints()})"
    )
    _raise_where_broken(page)
    changed = [
        time
        for time, old, new in zip(noted["drawn"], before, noted["after"], strict=True)
        if time is not None and old != new
    ]
    if not changed:
        raise SystemExit(f"no chart changed after {key}; the slider may be at its end")
    start = noted["pressed"]
    return Move(
        noted["sent"] - start,
        noted["received"] - start,
        max(changed) - start,
        _fit_ms(page),
        noted["bytesIn"],
        noted["bytesOut"],
        len(changed),
        len(before),
    )


def drag(page: Page, slider: Locator, seconds: float) -> float:
    """How many times a second the first chart shows something new while the slider is dragged with the mouse."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    x, y, width = box["x"], box["y"] + box["height"] / 2, box["width"]
    page.mouse.move(x + width / 2, y)
    page.mouse.down()
    page.evaluate("bench.countChanges()")
    start = time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        page.mouse.move(x + width * (0.5 + 0.4 * math.sin(2 * passed)), y)
        page.wait_for_timeout(30)
    changes = page.evaluate("bench.changesSoFar()")
    page.mouse.up()
    _settle(page)
    return changes / passed


def act(page: Page, do: Callable[[], object]) -> float:
    """Do something that the page answers: milliseconds until its last change, or the last drawing on a chart.

    The clock starts at the key that `do` presses, or right before it where it presses none.
    """
    page.evaluate("bench.reset(); bench.began = performance.now()")
    do()
    _settle(page)
    noted = page.evaluate(
        "({began: bench.began, pressed: bench.pressed, drawn: bench.drawnAt(), change: bench.lastChange})"
    )
    _raise_where_broken(page)
    start = noted["pressed"] or noted["began"]
    return max(noted["change"], *(time for time in noted["drawn"] if time is not None), start) - start


def turn_to(page: Page, title: str) -> float:
    """Turn to another page of the app, by the key on its link in the navigation: as in `act`."""
    link = page.locator('[data-testid="stTopNavLink"]').filter(has_text=re.compile(f"{re.escape(title)}$"))
    link.focus()
    return act(page, lambda: page.keyboard.press("Enter"))


def _settle(page: Page) -> None:
    page.wait_for_function(f"bench.settled({QUIET_MS})", timeout=PATIENCE_MS, polling=50)


def _raise_where_broken(page: Page) -> None:
    problem = page.locator('[data-testid="stException"], [data-testid="stAlertContentError"]')
    if problem.count():
        raise SystemExit(f"the page shows an error: {problem.first.inner_text()}")


def _fit_ms(page: Page) -> float:
    """What the lab says its fit took; 0 on a page without one."""
    found = re.search(r"of each loss, (\d+\.\d+) s", page.locator('[data-testid="stMain"]').inner_text())
    return 1000 * float(found[1]) if found else 0.0
