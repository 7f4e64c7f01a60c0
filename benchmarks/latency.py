"""What a visitor waits for on each page, in a real browser, beside a Streamlit page that is nearly empty.

- Openings, from the start of the navigation in a browser that was just started, with an empty cache: until the first
  chart is drawn, or, on a page without charts, until its last change. Cold: the server, too, was just started; warm:
  it has served the page before.
- Page switches: from the key on the page's link in the navigation, on Home (to Home: on Learn), to the last change.
- Sliders: from the key that releases one until the last chart with new content is drawn. In the lab with the fit and
  beyond it, on CIFAR-10 and HAM10000, and the same while a training runs that was started from a page.
- Dragging, in the lab: how many times a second the first chart shows something new.
- Upload: from choosing a photograph of 600 x 450 to the last change, with its card in the page.

Each is divided by the same on `empty_app.py`, measured in the same run, which says how much of it is Streamlit.

    python benchmarks/latency.py [--pages lab learn ...] [--moves 20] [--openings 3]

Prints tables in Markdown; exits 1 where a target of the project is missed.
"""

import argparse
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from background import training_job
from browser import Move, Opening, act, cold_page, drag, move, open_page, turn_to
from playwright.sync_api import Page, Playwright, sync_playwright
from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, Server, running
from spots import (
    BEYOND,
    COLD,
    EMPTY,
    LABS,
    LEAST_UPDATES,
    MOST_TIMES,
    SLIDER,
    SPOTS,
    SWITCH,
    TRAINING,
    TRAINING_ALL,
    UPLOAD,
    WARM,
    WITH_FIT,
    Spot,
    budget,
    title,
)
from uploads import HAS_CARD, choose, clear, photograph

from l2d_core.common.paths import PROGRAM

EMPTY_APP = PROGRAM / "benchmarks" / "empty_app.py"
WARM_UP_MOVES = 3
FIRST_VISITOR_MS = 3000  # that the first visitor of a server may wait longer for a page than later ones
TORCH_SECONDS = 30
UPLOADS = 5
DRAG_SECONDS = 4


@dataclass
class Results:
    """Milliseconds by (page, kind); empty: of the nearly empty app, by (whether it has a chart, kind)."""

    times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    empty: dict[tuple[bool, str], list[float]] = field(default_factory=dict)
    fits: list[float] = field(default_factory=list)
    early: list[bool] = field(default_factory=list)
    updates: dict[str, float] = field(default_factory=dict)  # a second, while one drags, by page


def shown(opening: Opening) -> float:
    """Until the first chart, or the last change of a page without charts."""
    return opening.last_change if opening.first_chart is None else opening.first_chart


def open_cold(playwright: Playwright, app: Path, spot: Spot, count: int) -> tuple[list[float], list[bool]]:
    """Open the page with a server and a browser that have just started; and whether it was drawn before torch came."""
    times, early = [], []
    for _ in range(count):
        with running(app) as server, cold_page(playwright) as page:
            opening = open_page(page, server.url + spot.path, has_charts=spot.has_charts)
            times.append(shown(opening))
            if spot is SPOTS["home"]:
                early.append(opening.started_at + opening.last_change / 1000 < _torch_begins(server))
    return times, early


def _torch_begins(server: Server) -> float:
    end = time.monotonic() + TORCH_SECONDS
    while time.monotonic() < end:
        lines = server.torch_note.read_text().split() if server.torch_note.exists() else []
        if lines:
            return float(lines[0])
        time.sleep(0.05)
    raise SystemExit(f"torch was not imported within {TORCH_SECONDS} s")


def open_warm(playwright: Playwright, url: str, spot: Spot, count: int) -> list[float]:
    """Open the page in a browser that has just started; the first time does not count."""
    times = []
    for _ in range(count + 1):
        with cold_page(playwright) as page:
            times.append(shown(open_page(page, url + spot.path, has_charts=spot.has_charts)))
    return times[1:]


def switch(page: Page, url: str, start: Spot, to: Spot, count: int) -> list[float]:
    """Turn to a page from another one, and back; the first time does not count."""
    open_page(page, url + start.path, has_charts=start.has_charts)
    times = []
    for _ in range(count + 1):
        times.append(turn_to(page, to.title))
        turn_to(page, start.title)
    return times[1:]


def slide(page: Page, url: str, spot: Spot, count: int) -> list[Move]:
    """Move the page's sliders in turn, each time to where none has been; the first few do not count."""
    open_page(page, url + spot.path)
    moves = []
    for name, key in islice(cycle(spot.sliders), count + WARM_UP_MOVES):
        moves.append(move(page, page.get_by_role("slider", name=re.compile(f"^{re.escape(name)}")), key))
    return moves[WARM_UP_MOVES:]


def slide_while_training(playwright: Playwright, count: int, runs_root: Path) -> list[Move]:
    """The same in the live lab of a new server, which knows no results of these places yet, while it trains."""
    with _visited(playwright, LAB_APP) as (server, page), training_job(server.url, runs_root):
        return slide(page, server.url, SPOTS["lab_ham10000"], count)


def upload(page: Page, url: str, spot: Spot, folder: Path, count: int) -> list[float]:
    """Choose photographs one by one; the first, for which networks may be loaded, does not count."""
    open_page(page, url + spot.path, has_charts=spot.has_charts)
    is_empty_app, times = spot is EMPTY[True], []
    for number in range(count + 1):
        if not is_empty_app:
            clear(page)
        file = photograph(folder, number)
        times.append(act(page, lambda file=file: _choose_and_wait(page, file, is_empty_app)))
    return times[1:]


def _choose_and_wait(page: Page, file: Path, is_empty_app: bool) -> None:
    choose(page, [file])
    if is_empty_app:
        page.get_by_text(f"{file.name}: ").wait_for()
    else:
        page.wait_for_function(HAS_CARD, arg=file.name, polling=20, timeout=180_000)


@contextmanager
def _visited(playwright: Playwright, app: Path) -> Iterator[tuple[Server, Page]]:
    with running(app) as server, cold_page(playwright) as page:
        yield server, page


def measure(names: Sequence[str], num_moves: int, num_openings: int, folder: Path) -> Results:
    """All of it: the nearly empty app first, then the cold servers, then all that is warm on one server."""
    results = Results()
    with sync_playwright() as playwright:
        _measure_empty(playwright, results, num_moves, num_openings, folder)
        for name in names:
            results.times[name, COLD], early = open_cold(playwright, LAB_APP, SPOTS[name], num_openings)
            results.early += early
        with _visited(playwright, LAB_APP) as (server, page):
            for name in names:
                _measure_warm(playwright, page, server.url, name, results, num_moves, num_openings, folder)
        if "lab" in names:
            moves = slide_while_training(playwright, num_moves, folder / "runs")
            results.times["lab", TRAINING] = [one.beyond_fit for one in moves]
            results.times["lab", TRAINING_ALL] = [one.last_chart for one in moves]
    return results


def _measure_empty(playwright: Playwright, results: Results, num_moves: int, num_openings: int, folder: Path) -> None:
    empty = results.empty
    for has_charts, spot in EMPTY.items():
        empty[has_charts, COLD], _ = open_cold(playwright, EMPTY_APP, spot, num_openings)
    with _visited(playwright, EMPTY_APP) as (server, page):
        for has_charts, spot in EMPTY.items():
            empty[has_charts, WARM] = open_warm(playwright, server.url, spot, num_openings)
            empty[has_charts, SWITCH] = switch(page, server.url, EMPTY[not has_charts], spot, num_openings)
        moves = slide(page, server.url, EMPTY[True], num_moves)
        for kind in (SLIDER, WITH_FIT, BEYOND, TRAINING, TRAINING_ALL):
            empty[True, kind] = [one.last_chart for one in moves]
        empty[False, UPLOAD] = upload(page, server.url, EMPTY[True], folder, UPLOADS)


def _measure_warm(
    playwright: Playwright,
    page: Page,
    url: str,
    name: str,
    results: Results,
    num_moves: int,
    num_openings: int,
    folder: Path,
) -> None:
    spot, times = SPOTS[name], results.times
    times[name, WARM] = open_warm(playwright, url, spot, num_openings)
    start = SPOTS["learn" if name == "home" else "home"]
    times[name, SWITCH] = switch(page, url, start, spot, num_openings)
    if name in LABS:
        moves = slide(page, url, spot, num_moves)
        results.fits += [one.fit_ms for one in moves]
        times[name, WITH_FIT] = [one.last_chart for one in moves]
        times[name, BEYOND] = [one.beyond_fit for one in moves]
        slider = page.get_by_role("slider", name=re.compile(f"^{re.escape(spot.sliders[0][0])}"))
        results.updates[name] = drag(page, slider, DRAG_SECONDS)
    elif spot.sliders:
        times[name, SLIDER] = [one.last_chart for one in slide(page, url, spot, num_moves)]
    elif name == "lesions":
        times[name, UPLOAD] = upload(page, url, spot, folder, UPLOADS)


def report(results: Results) -> None:
    """Print the tables."""
    rows = []
    for (name, kind), times in results.times.items():
        floor = results.empty[kind not in (UPLOAD,) and SPOTS[name].has_charts, kind]
        ratio = quantile(times, 0.5) / quantile(floor, 0.5)
        allowed = ", ".join(f"p{100 * share:.0f} {most:,}" for share, most in budget(name, kind).items())
        rows.append([title(name), kind, *_numbers(times), f"{ratio:.1f}", allowed])
    print("\n" + markdown_table(["page", "milliseconds", "n", "p50", "p95", "max", "ratio", "budget"], rows))
    rows = [
        ["with a chart" if chart else "without", kind, *_numbers(times)] for (chart, kind), times in _floors(results)
    ]
    print("\nThe nearly empty pages, whose medians the ratios are to\n")
    print(markdown_table(["page", "milliseconds", "n", "p50", "p95", "max"], rows))
    if results.fits:
        print(f"\nThe lab's fit itself: median {quantile(results.fits, 0.5):.0f} ms.")
    for name, updates in results.updates.items():
        print(f"{title(name)}, while one drags: {updates:.1f} updates per second.")


def _floors(results: Results) -> list[tuple[tuple[bool, str], list[float]]]:
    return [one for one in results.empty.items() if one[0][1] not in (WITH_FIT, BEYOND, TRAINING, TRAINING_ALL)]


def _numbers(times: Sequence[float]) -> list[object]:
    return [len(times), *(f"{quantile(times, share):,.0f}" for share in (0.5, 0.95, 1))]


def check_targets(results: Results) -> None:
    """Say which targets were reached, and end the program."""
    targets = Targets()
    for (name, kind), times in results.times.items():
        for share, most in budget(name, kind).items():
            value = quantile(times, share)
            what = f"{title(name)}, {kind}: p{100 * share:.0f} {value:,.0f} ms, at most {most:,} ms"
            targets.check(value <= most, what)
        if kind in MOST_TIMES:
            ratio = quantile(times, 0.5) / quantile(results.empty[True, kind], 0.5)
            targets.check(
                ratio <= MOST_TIMES[kind], f"{title(name)}, {kind}: {ratio:.1f} times the nearly empty page's"
            )
    for name, updates in results.updates.items():
        targets.check(updates >= LEAST_UPDATES, f"{title(name)}: {updates:.1f} updates per second while one drags")
    for name in dict.fromkeys(name for name, _ in results.times):
        more = max(results.times[name, COLD]) - quantile(results.times[name, WARM], 0.5)
        what = f"{title(name)}: the first visitor waits {more:,.0f} ms longer, at most {FIRST_VISITOR_MS:,} ms"
        targets.check(more <= FIRST_VISITOR_MS, what)
    if results.early:
        what = f"Home is drawn before the import of torch begins, {sum(results.early)} of {len(results.early)} times"
        targets.check(all(results.early), what)
    targets.exit()


def main() -> None:
    """Measure, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", nargs="+", choices=SPOTS, default=list(SPOTS))
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--openings", type=int, default=3)
    options = parser.parse_args()
    print(machine("streamlit", "torch", "altair", "playwright"), flush=True)
    with TemporaryDirectory() as folder:
        os.environ["L2D_RUNS_ROOT"] = str(Path(folder) / "runs")
        results = measure(options.pages, options.moves, options.openings, Path(folder))
    report(results)
    check_targets(results)


if __name__ == "__main__":
    main()
