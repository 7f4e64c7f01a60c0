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
from collections.abc import Callable, Sequence
from itertools import cycle, islice

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


def measure_openings(playwright: Playwright, address: Callable[[], str], count: int) -> list[Opening]:
    """Open the page in a browser started anew, `count` times."""
    openings = []
    for _ in range(count):
        with cold_page(playwright) as page:
            openings.append(open_page(page, address()))
    return openings


def measure_cold_servers(playwright: Playwright, path: str, count: int) -> tuple[list[Opening], list[list[float]]]:
    """Open the page right after its server has started, `count` times; and when torch was imported each time.

    The times: milliseconds from the start of the navigation to the start and to the end of torch's import.
    """
    openings, torch_times = [], []
    for _ in range(count):
        with running(LAB_APP) as server, cold_page(playwright) as page:
            opening = open_page(page, server.url + path)
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


def _moves_rows(moves: Sequence[Move]) -> list[list[object]]:
    columns = {
        "slider release to last chart": [m.last_chart for m in moves],
        "the fit": [m.fit_ms for m in moves],
        "**beyond the fit**": [m.beyond_fit for m in moves],
        "... key to message sent": [m.sent for m in moves],
        "... sent to last message, without the fit": [m.last_message - m.sent - m.fit_ms for m in moves],
        "... last message to last chart (below 0: drawn before)": [m.last_chart - m.last_message for m in moves],
    }
    return [_row(name, values) for name, values in columns.items()]


def _row(name: str, values: Sequence[float]) -> list[object]:
    return [name, len(values), *(f"{quantile(values, share):,.0f}" for share in (0.5, 0.95, 1))]


def _first(openings: Sequence[Opening]) -> list[float]:
    return [_number(opening.first_chart) for opening in openings]


def _last(openings: Sequence[Opening]) -> list[float]:
    return [_number(opening.last_chart) for opening in openings]


def _number(time: float | None) -> float:
    if time is None:
        raise SystemExit("the page drew no chart")
    return time


def _bytes_line(page: str, moves: Sequence[Move]) -> str:
    received, sent = (quantile([getattr(m, name) for m in moves], 0.5) / 1000 for name in ("bytes_in", "bytes_out"))
    seen = f"{min(m.changed for m in moves)} of {max(m.charts for m in moves)}"
    return f"{page}: median {received:,.1f} kB received and {sent:,.1f} kB sent a move; at least {seen} charts changed."


def main() -> None:
    """Run all, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=35)
    parser.add_argument("--openings", type=int, default=5)
    arguments = parser.parse_args()
    print(machine("streamlit", "torch", "altair", "playwright"), flush=True)

    with sync_playwright() as playwright:
        home, torch_times = measure_cold_servers(playwright, "/", arguments.openings)
        cold, _ = measure_cold_servers(playwright, "/lab", arguments.openings)
        with running(LAB_APP) as server:
            measure_openings(playwright, lambda: server.url + "/lab", 1)
            warm = measure_openings(playwright, lambda: server.url + "/lab", arguments.openings)
            with cold_page(playwright) as page:
                open_page(page, server.url + "/lab")
                moves = measure_moves(page, LAB_SLIDERS, arguments.moves)
        with running(TRIVIAL_APP) as server:
            trivial = measure_openings(playwright, lambda: server.url, arguments.openings)
            with cold_page(playwright) as page:
                open_page(page, server.url)
                trivial_moves = measure_moves(page, TRIVIAL_SLIDERS, arguments.moves)

    header = ["milliseconds", "n", "p50", "p95", "max"]
    print("\nSlider moves of the live lab (HAM10000, 8 seeds, 20 epochs)\n")
    print(markdown_table(header, _moves_rows(moves)))
    print("\nTrivial page, and how much of the lab it explains\n")
    floor = [m.last_chart for m in trivial_moves]
    print(markdown_table(header, [_row("slider release to chart, trivial page", floor)]))
    beyond = [m.beyond_fit for m in moves]
    ratio = quantile(beyond, 0.5) / quantile(floor, 0.5)
    print(f"\nThe lab's time beyond the fit is {ratio:.1f} times the trivial page's (medians).")
    print(_bytes_line("Lab", moves))
    print(_bytes_line("Trivial page", trivial_moves))
    print("\nFrom the start of the navigation, in a browser that was just started\n")
    starts, ends = zip(*torch_times, strict=True)
    rows = [
        _row("lab, warm server: first chart", _first(warm)),
        _row("lab, warm server: last chart", _last(warm)),
        _row("lab, cold server: first chart", _first(cold)),
        _row("lab, cold server: last chart", _last(cold)),
        _row("trivial page, warm server: chart", _first(trivial)),
        _row("Home, cold server: heading in the page", [opening.first_heading for opening in home]),
        _row("Home, cold server: last change of the page", [opening.last_change for opening in home]),
        _row("Home, cold server: import of torch begins", starts),
        _row("Home, cold server: import of torch ends", ends),
    ]
    print(markdown_table(header, rows))
    _check_targets(beyond, warm, cold, home, starts)


def _check_targets(
    beyond: Sequence[float],
    warm: Sequence[Opening],
    cold: Sequence[Opening],
    home: Sequence[Opening],
    torch_starts: Sequence[float],
) -> None:
    targets = Targets()
    for share, most in MAX_BEYOND_FIT_MS.items():
        value = quantile(beyond, share)
        targets.check(value < most, f"beyond the fit, p{100 * share:.0f} {value:.0f} ms, under {most} ms")
    for name, openings in (("warm", warm), ("cold", cold)):
        value = max(_first(openings))
        what = f"first chart in a cold browser, {name} server, at most {value:,.0f} ms, under {MAX_FIRST_CHART_MS:,} ms"
        targets.check(value < MAX_FIRST_CHART_MS, what)
    early = sum(opening.first_heading < start for opening, start in zip(home, torch_starts, strict=True))
    targets.check(early == len(home), f"Home is in the page before torch's import begins, {early} of {len(home)} times")
    targets.exit()


if __name__ == "__main__":
    main()
