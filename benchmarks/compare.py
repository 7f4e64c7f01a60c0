"""The page "Compare": four runs of 10,000 cases in a real browser, a CSV of 1,000,000 rows, and a table of 1,000 runs.

First charts: from the start of the navigation, in a browser that was just started, with a warm server. Slider moves:
from the key that releases a slider to the frame that shows the last chart with new content. The CSV, with ten classes,
is imported and compared, with all charts' tables, in a process of its own, whose peak memory is told; so is the table
of runs.

    python benchmarks/compare.py [--moves 40] [--openings 5] [--rows 1000000] [--runs 1000]

Prints tables in Markdown; exits 1 where a target of the project is missed.
"""

import argparse
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from browser import Move, Opening, cold_page, move, open_page
from playwright.sync_api import Playwright, sync_playwright
from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, TRIVIAL_APP, running

from l2d_core.common.paths import PROGRAM

SHIPPED = ("cifar10-softmax", "cifar10-one_vs_all", "cifar10-asymmetric_softmax")
SLIDERS = (("Cost of asking", "ArrowRight"), ("Budget: cases", "ArrowLeft"))
WARM_UP_MOVES = 3
NUM_CLASSES = 10
MAX_FIRST_MS, MAX_MOVE_MS = 3000, 600
MAX_IMPORT_SECONDS, MAX_COMPARE_SECONDS, MAX_GIB, MAX_TABLE_SECONDS = 10, 5, 2, 1


def measure_trivial(num_openings: int) -> tuple[list[Opening], list[Move]]:
    """The same for a page of one slider and one chart: what Streamlit takes by itself at this load."""
    with running(TRIVIAL_APP) as server, sync_playwright() as playwright:
        return _measure(playwright, server.url, num_openings, (("value", "ArrowRight"),), 12)


def measure_page(num_moves: int, num_openings: int) -> tuple[list[Opening], list[Move]]:
    """Open the page with four runs, several times, and move its two sliders in turn."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PROGRAM / "pretrained" / "runs" / SHIPPED[0], Path(folder) / "again")
        os.environ["L2D_RUNS_ROOT"] = folder
        runs = [f"shipped/{name}" for name in SHIPPED] + ["here/again"]
        with running(LAB_APP) as server, sync_playwright() as playwright:
            url = f"{server.url}/compare?{'&'.join(f'run={run}' for run in runs)}"
            return _measure(playwright, url, num_openings, SLIDERS, num_moves)


def _measure(
    playwright: Playwright, url: str, num_openings: int, sliders: Sequence[tuple[str, str]], num_moves: int
) -> tuple[list[Opening], list[Move]]:
    """Openings, the first of which warms the server up, and moves, of which the first few do not count."""
    openings, moves = [], []
    for _ in range(num_openings + 1):
        with cold_page(playwright) as page:
            openings.append(open_page(page, url))
    with cold_page(playwright) as page:
        open_page(page, url)
        for name, key in islice(cycle(sliders), num_moves + WARM_UP_MOVES):
            moves.append(move(page, page.get_by_role("slider", name=name), key))
    return openings[1:], moves[WARM_UP_MOVES:]


def import_and_compare(rows: int) -> dict[str, float]:
    """Seconds for a CSV of so many rows, from its bytes; run in a process of its own."""
    from app.compare.board import Comparison, EstimateSettings
    from app.compare.evaluation import Evaluation
    from app.compare.uploads import Uploads

    data, uploads = _csv(rows), Uploads()
    before = _peak_gib()
    begin = time.perf_counter()
    key = uploads.add(data, "large.csv")
    assert key is not None
    guess = uploads.waiting[key].guess
    assert guess is not None
    uploads.explain_table(key, guess, "one_vs_all", "logits", [])
    imported = time.perf_counter() - begin
    begin = time.perf_counter()
    evaluation = Evaluation(Comparison(list(uploads.systems().values())), EstimateSettings(), 0.05, 0.5)
    _all_of(evaluation)
    compared = time.perf_counter() - begin
    begin = time.perf_counter()
    _all_of(replace(evaluation, cost=0.06))
    moved = time.perf_counter() - begin
    sizes = {"file_mb": len(data) / 1e6, "before_gib": before, "peak_gib": _peak_gib()}
    return {"import": imported, "compare": compared, "move": moved, **sizes}


def _all_of(one) -> None:
    """All that the page draws."""
    charts = (one.reliability_chart(0), one.risk_chart(0), one.coverage_chart(), one.budget_chart())
    assert all([one.numbers, one.classes, one.confusion, *charts])


def _csv(rows: int) -> bytes:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    generator = np.random.default_rng(0)
    labels = generator.integers(0, NUM_CLASSES, rows)
    columns = {"id": np.arange(rows), "label": labels, "expert": generator.integers(0, NUM_CLASSES, rows)}
    for k in range(NUM_CLASSES):
        columns[f"logit_{k}"] = np.round(generator.normal(size=rows) + 2 * (labels == k), 4)
    columns["defer"] = np.round(generator.normal(size=rows), 4)
    stream = io.BytesIO()
    csv.write_csv(pa.table(columns), stream)
    return stream.getvalue()


def table_of_runs(count: int) -> dict[str, float]:
    """Seconds for so many run folders, of which each is a copy of one: read for the first time, and again."""
    from app.compare import choice
    from app.jobs import runs as compare_runs

    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            shutil.copytree(
                PROGRAM / "pretrained" / "runs" / SHIPPED[k % 3],
                Path(folder) / f"run-{k:04}",
                copy_function=os.link if os.stat(folder).st_dev == os.stat(PROGRAM).st_dev else shutil.copy2,
            )
        compare_runs.ROOTS = {"here": (Path(folder),)}
        first = _seconds(compare_runs.list_runs)
        again = _seconds(compare_runs.list_runs)
        runs = compare_runs.list_runs()
        shown = _seconds(lambda: choice.run_table(choice.filter_runs(runs, "softmax", []), []))
    return {"first": first, "again": again, "shown": shown}


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _aside(what: str, count: int) -> dict[str, float]:
    """One of the parts above in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--part", what, "--count", str(count)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def report(
    page: tuple[list[Opening], list[Move]],
    trivial: tuple[list[Opening], list[Move]],
    large: dict[str, float],
    table: dict[str, float],
) -> None:
    """Print the tables, say which targets were reached, and end the program."""
    columns = {}
    for name, (openings, moves) in (("", page), ("trivial page: ", trivial)):
        columns[f"{name}first chart"] = [one.first_chart or 0 for one in openings]
        columns[f"{name}slider release to last chart"] = [one.last_chart for one in moves]
    rows = [
        [name, len(all_), *(f"{quantile(all_, share):,.0f}" for share in (0.5, 0.95, 1))]
        for name, all_ in columns.items()
    ]
    print("\nFour runs of 10,000 cases, milliseconds\n")
    print(markdown_table(["milliseconds", "n", "p50", "p95", "max"], rows))
    print(f"\nA move: median {quantile([one.bytes_in for one in page[1]], 0.5) / 1000:,.1f} kB received.")
    _print_large(large, table)
    targets = Targets()
    first, last = max(columns["first chart"]), quantile(columns["slider release to last chart"], 0.95)
    targets.check(first < MAX_FIRST_MS, f"first chart, at most {first:,.0f} ms, under {MAX_FIRST_MS:,} ms")
    targets.check(last < MAX_MOVE_MS, f"slider to last chart, p95 {last:,.0f} ms, under {MAX_MOVE_MS} ms")
    limits = {"import": MAX_IMPORT_SECONDS, "compare": MAX_COMPARE_SECONDS, "peak_gib": MAX_GIB}
    for name, most in limits.items():
        targets.check(large[name] < most, f"large CSV, {name.replace('_', ', ')} {large[name]:.2f}, under {most}")
    targets.check(table["again"] + table["shown"] < MAX_TABLE_SECONDS, f"table of runs, under {MAX_TABLE_SECONDS} s")
    targets.exit()


def _print_large(large: dict[str, float], table: dict[str, float]) -> None:
    print("\nLarge tables, seconds\n")
    seconds = {
        f"CSV of {large['file_mb']:,.0f} MB: import": large["import"],
        "... compare, with all charts' tables": large["compare"],
        "... the same after a slider move": large["move"],
        "run folders: table, read for the first time": table["first"],
        "... read again": table["again"],
        "... laid out for the page": table["shown"],
    }
    print(markdown_table(["", "seconds"], [[name, f"{value:.2f}"] for name, value in seconds.items()]))
    print(f"\nPeak memory {large['peak_gib']:.2f} GiB, of it before the import {large['before_gib']:.2f} GiB.")


def main() -> None:
    """Measure, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--openings", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--part", choices=("large", "table"), help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        found = (import_and_compare if arguments.part == "large" else table_of_runs)(arguments.count)
        print(json.dumps(found))
        return
    print(machine("streamlit", "pandas", "pyarrow", "playwright"), flush=True)
    large, table = _aside("large", arguments.rows), _aside("table", arguments.runs)
    page, trivial = measure_page(arguments.moves, arguments.openings), measure_trivial(arguments.openings)
    report(page, trivial, large, table)


if __name__ == "__main__":
    main()
