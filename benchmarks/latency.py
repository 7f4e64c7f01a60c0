"""What a visitor waits for in the live lab, measured inside a real browser's page against a server of its own.

Slider moves: from the key that releases a slider to the frame that shows the last chart with new content, what the
fit took of that, and the rest, "beyond the fit"; the bytes of a move on the websocket. First chart: from the start
of the navigation, in a browser that was just started, with a server that is warm or was just started. The same on
`trivial_app.py`, which says how much of it is Streamlit. Home: when it is drawn, and when torch is first imported.

    python benchmarks/latency.py [--moves 35] [--openings 5]

Prints tables in Markdown; exits 1 where a target of the project is missed. A move that changes no chart is an error.
"""

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from browser import Move, Opening, cold_page, move, open_page
from playwright.sync_api import Page, Playwright, sync_playwright
from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, TRIVIAL_APP, Server, running

WARM_UP_MOVES = 3
TORCH_SECONDS = 30
# Sliders of the lab's first data set, and the key that leads away from the nearer end.
LAB_SLIDERS = (
    ("mel: melanoma", "ArrowRight"),
    ("nv: melanocytic nevus", "ArrowLeft"),
    ("bkl: benign keratosis", "ArrowRight"),
    ("bcc: basal cell carcinoma", "ArrowRight"),
)
TRIVIAL_SLIDERS = (("value", "ArrowRight"),)
MAX_BEYOND_FIT_MS = {0.5: 350, 0.95: 600}
MAX_FIRST_CHART_MS = 5000


def measure_moves(page: Page, sliders: Sequence[tuple[str, str]], count: int) -> list[Move]:
    """Move the sliders in turn, each time to where none has been, after a few moves that do not count."""
    moves = []
    for name, key in islice(cycle(sliders), count + WARM_UP_MOVES):
        slider = page.get_by_role("slider", name=re.compile(f"^{re.escape(name)}"))
        moves.append(move(page, slider, key))
    return moves[WARM_UP_MOVES:]


def measure_openings(playwright: Playwright, address: str, count: int) -> list[Opening]:
    """Open the page in a browser started anew, `count` times."""
    openings = []
    for _ in range(count):
        with cold_page(playwright) as page:
            openings.append(open_page(page, address))
    return openings


def measure_cold_servers(playwright: Playwright, path: str, count: int) -> tuple[list[Opening], list[list[float]]]:
    """Open the page right after its server has started, `count` times; and when torch was imported each time.

    The times: milliseconds from the start of the navigation to the start and to the end of torch's import.
    """
    openings, torch_times = [], []
    for _ in range(count):
        with running(LAB_APP) as server, cold_page(playwright) as page:
            opening = open_page(page, server.url + path, has_charts=path != "/")
            openings.append(opening)
            torch_times.append([1000 * (at - opening.started_at) for at in _wait_for_torch(server)])
    return openings, torch_times


def _wait_for_torch(server: Server) -> list[float]:
    end = time.monotonic() + TORCH_SECONDS
    while time.monotonic() < end:
        lines = server.torch_note.read_text().split() if server.torch_note.exists() else []
        if len(lines) >= 2:
            return [float(line) for line in lines[:2]]
        time.sleep(0.05)
    raise SystemExit(f"torch was not imported within {TORCH_SECONDS} s")


@dataclass(frozen=True)
class Results:
    """All that is measured; torch_times as of `measure_cold_servers`, for Home."""

    home: list[Opening]
    torch_times: list[list[float]]
    cold: list[Opening]
    warm: list[Opening]
    moves: list[Move]
    trivial: list[Opening]
    trivial_moves: list[Move]


def measure(num_moves: int, num_openings: int) -> Results:
    """The lab's cold servers first, then one that is warm, then the trivial page's."""
    with sync_playwright() as playwright:
        home, torch_times = measure_cold_servers(playwright, "/", num_openings)
        cold, _ = measure_cold_servers(playwright, "/lab", num_openings)
        lab = _measure_warm(playwright, LAB_APP, "/lab", LAB_SLIDERS, num_moves, num_openings)
        trivial = _measure_warm(playwright, TRIVIAL_APP, "/", TRIVIAL_SLIDERS, num_moves, num_openings)
    return Results(home, torch_times, cold, *lab, *trivial)


def _measure_warm(
    playwright: Playwright,
    app: Path,
    path: str,
    sliders: Sequence[tuple[str, str]],
    num_moves: int,
    num_openings: int,
) -> tuple[list[Opening], list[Move]]:
    with running(app) as server:
        measure_openings(playwright, server.url + path, 1)
        openings = measure_openings(playwright, server.url + path, num_openings)
        with cold_page(playwright) as page:
            open_page(page, server.url + path)
            return openings, measure_moves(page, sliders, num_moves)


def report(results: Results) -> None:
    """Print the tables."""
    header = ["milliseconds", "n", "p50", "p95", "max"]
    print("\nSlider moves of the live lab (HAM10000, 8 seeds, 20 epochs), and of the trivial page\n")
    print(markdown_table(header, [_row(*one) for one in _move_columns(results).items()]))
    ratio = _median_ratio([m.beyond_fit for m in results.moves], [m.last_chart for m in results.trivial_moves])
    print(f"\nThe lab's time beyond the fit is {ratio:.1f} times the trivial page's time (medians).")
    print(_bytes_line("Lab", results.moves))
    print(_bytes_line("Trivial page", results.trivial_moves))
    print("\nFrom the start of the navigation, in a browser that was just started\n")
    print(markdown_table(header, [_row(*one) for one in _opening_columns(results).items()]))
    ratio = _median_ratio(_charts(results.warm, "first_chart"), _charts(results.trivial, "first_chart"))
    print(f"\nThe lab's first chart takes {ratio:.1f} times as long as the trivial page's (warm server, medians).")


def _move_columns(results: Results) -> dict[str, list[float]]:
    moves = results.moves
    return {
        "slider release to last chart": [m.last_chart for m in moves],
        "the fit": [m.fit_ms for m in moves],
        "**beyond the fit**": [m.beyond_fit for m in moves],
        "... key to message sent": [m.sent for m in moves],
        "... sent to last message, without the fit": [m.last_message - m.sent - m.fit_ms for m in moves],
        "... last message to last chart (below 0: drawn before)": [m.last_chart - m.last_message for m in moves],
        "trivial page: slider release to chart": [m.last_chart for m in results.trivial_moves],
    }


def _opening_columns(results: Results) -> dict[str, list[float]]:
    begins, ends = zip(*results.torch_times, strict=True)
    return {
        "lab, warm server: first chart": _charts(results.warm, "first_chart"),
        "lab, warm server: last chart": _charts(results.warm, "last_chart"),
        "lab, cold server: first chart": _charts(results.cold, "first_chart"),
        "lab, cold server: last chart": _charts(results.cold, "last_chart"),
        "trivial page, warm server: chart": _charts(results.trivial, "first_chart"),
        "Home, cold server: heading in the page": [opening.first_heading for opening in results.home],
        "Home, cold server: last change of the page": [opening.last_change for opening in results.home],
        "Home, cold server: import of torch begins": list(begins),
        "Home, cold server: import of torch ends": list(ends),
    }


def _row(name: str, values: Sequence[float]) -> list[object]:
    return [name, len(values), *(f"{quantile(values, share):,.0f}" for share in (0.5, 0.95, 1))]


def _charts(openings: Sequence[Opening], which: str) -> list[float]:
    return [getattr(opening, which) for opening in openings]


def _median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    return quantile(above, 0.5) / quantile(below, 0.5)


def _bytes_line(page: str, moves: Sequence[Move]) -> str:
    received, sent = (
        quantile(values, 0.5) / 1000 for values in ([m.bytes_in for m in moves], [m.bytes_out for m in moves])
    )
    seen = f"{min(m.changed for m in moves)} of {max(m.charts for m in moves)}"
    return f"{page}: median {received:,.1f} kB received and {sent:,.1f} kB sent a move; at least {seen} charts changed."


def check_targets(results: Results) -> None:
    """Say which targets were reached, and end the program."""
    targets = Targets()
    for share, most in MAX_BEYOND_FIT_MS.items():
        value = quantile([m.beyond_fit for m in results.moves], share)
        targets.check(value < most, f"beyond the fit, p{100 * share:.0f} {value:.0f} ms, under {most} ms")
    for name, openings in (("warm", results.warm), ("cold", results.cold)):
        value = max(_charts(openings, "first_chart"))
        what = f"first chart in a cold browser, {name} server, at most {value:,.0f} ms, under {MAX_FIRST_CHART_MS:,} ms"
        targets.check(value < MAX_FIRST_CHART_MS, what)
    pairs = list(zip(results.home, results.torch_times, strict=True))
    early = sum(opening.last_change < begins for opening, (begins, _) in pairs)
    what = f"Home is drawn before the import of torch begins, {early} of {len(pairs)} times"
    targets.check(early == len(pairs), what)
    targets.exit()


def main() -> None:
    """Measure, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=35)
    parser.add_argument("--openings", type=int, default=5)
    arguments = parser.parse_args()
    print(machine("streamlit", "torch", "altair", "playwright"), flush=True)
    results = measure(arguments.moves, arguments.openings)
    report(results)
    check_targets(results)


if __name__ == "__main__":
    main()
