"""What a visitor of "Skin lesions" waits for, and what uploads cost its server, in a real browser.

One image: from choosing a 600 x 450 JPEG to its card in the page, once the networks are loaded. Many: the same for 200
images at once, until all are in the table, with the server's memory before, at its highest, at the end and after
"Clear".

    python benchmarks/uploads.py [--singles 10] [--many 200]

Prints tables in Markdown; exits 1 where a target of the project is missed.
"""

import argparse
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from browser import cold_page
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, Memory, Server, running

HEIGHT, WIDTH = 450, 600
LOAD_MS = 180_000
LIST_ROWS = 200  # in a page of the list
REST_SECONDS = 4
MAX_SINGLE_SECONDS, MAX_MANY_SECONDS = 1.0, 15.0
MAX_GROWTH_MIB, MAX_LEFT_MIB = 300, 50
HAS_CARD = "name => [...document.querySelectorAll('.lesion h2')].some(one => one.textContent === name)"
HAS_ROWS = """count => [...document.querySelectorAll('*')].flatMap(one => one.shadowRoot ?
    [...one.shadowRoot.querySelectorAll('[role=option]')] : []).length === count"""
Round = tuple[float, float, dict[str, float]]  # see measure_many
SETTLED = "() => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"


def photograph(folder: Path, number: int) -> Path:
    """Write a JPEG as large as a photograph of HAM10000, for the browser to upload; each number's differs."""
    generator = np.random.default_rng(number)
    coarse = Image.fromarray(generator.integers(90, 220, (9, 12, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), dtype=np.float64)
    grain = generator.normal(0, 9, (HEIGHT, WIDTH, 1))
    path = folder / f"{number:05}.jpg"
    Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8)).save(path, "JPEG", quality=95)
    return path


def choose(page: Page, files: Sequence[Path]) -> None:
    """Put files into the upload field, in place of none; those before stay."""
    page.locator('input[type="file"]').first.set_input_files(list(files))


def measure_singles(page: Page, folder: Path, count: int) -> list[float]:
    """Seconds from choosing one image to its opened case."""
    times = []
    for number in range(count):
        clear(page)
        file = photograph(folder, number)
        start = time.perf_counter()
        choose(page, [file])
        page.wait_for_function(HAS_CARD, arg=file.name, polling=20, timeout=LOAD_MS)
        times.append(time.perf_counter() - start)
        page.wait_for_function(SETTLED)
    return times


def in_zip(folder: Path, files: Sequence[Path]) -> Path:
    """The files in one zip, in order."""
    path = folder / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.write(file, file.name)
    return path


def clear(page: Page) -> None:
    """Press "Clear", if there is anything to forget, and wait until nothing is left."""
    button = page.get_by_role("button", name="Clear")
    if button.is_enabled():
        button.click()
    page.get_by_text("or try the drawn example").wait_for()
    page.wait_for_function(SETTLED)


def measure_many(page: Page, server: Server, files: Sequence[Path], names: Sequence[str]) -> Round:
    """Seconds until the first row is there, and until all are scored; memory in MiB at each stage.

    names: of the pictures in the files, in order.
    """
    time.sleep(REST_SECONDS)
    with Memory(server, every_seconds=0.25) as memory:
        start = time.perf_counter()
        choose(page, files)
        page.locator("[role=option]").first.wait_for(timeout=LOAD_MS)
        first = time.perf_counter() - start
        page.wait_for_function(HAS_ROWS, arg=min(len(names), LIST_ROWS), timeout=LOAD_MS)
        page.get_by_text(f"{len(names):,} files received: {len(names):,} scored").wait_for(timeout=LOAD_MS)
        page.wait_for_function(SETTLED, timeout=LOAD_MS)
        seconds = time.perf_counter() - start
        time.sleep(REST_SECONDS)
    stages = {"before": memory.before, "highest": memory.highest, "all scored": server.memory_mib()}
    clear(page)
    time.sleep(REST_SECONDS)
    return first, seconds, stages | {'after "Clear"': server.memory_mib()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--singles", type=int, default=10)
    parser.add_argument("--many", type=int, default=200)
    options = parser.parse_args()
    print(machine("streamlit", "torch") + "\n")
    with (
        TemporaryDirectory() as name,
        sync_playwright() as playwright,
        running(LAB_APP) as server,
        cold_page(playwright) as page,
    ):
        folder = Path(name)
        many = [photograph(folder, 10_000 + number) for number in range(options.many)]
        page.goto(f"{server.url}/lesions")
        page.get_by_text("or try the drawn example").wait_for(timeout=LOAD_MS)
        measure_singles(page, folder, 3)  # loads the networks, and compiles
        singles = measure_singles(page, folder, options.singles)
        clear(page)
        names = [path.name for path in many]
        rounds = {
            f"{options.many} files": measure_many(page, server, many, names),
            "the same again": measure_many(page, server, many, names),
            "the same in a zip": measure_many(page, server, [in_zip(folder, many)], names),
        }
    print(markdown_table(("one image: seconds", "p50", "p95", "most"), [_quantiles(singles)]))
    stages = next(iter(rounds.values()))[2]
    header = ("many images", "first row, s", "all, s", *(f"{name}, MiB" for name in stages))
    rows = [
        (name, f"{first:.1f}", f"{seconds:.1f}", *(f"{one:,.0f}" for one in stages.values()))
        for name, (first, seconds, stages) in rounds.items()
    ]
    print("\n" + markdown_table(header, rows))
    _check(singles, rounds)


def _quantiles(singles: Sequence[float]) -> list[object]:
    return [f"n = {len(singles)}", *(f"{quantile(singles, share):.2f}" for share in (0.5, 0.95, 1))]


def _check(singles: Sequence[float], rounds: Mapping[str, Round]) -> None:
    targets = Targets()
    most = quantile(singles, 0.95)
    targets.check(most < MAX_SINGLE_SECONDS, f"one image to its result, p95 {most:.2f} s, under {MAX_SINGLE_SECONDS} s")
    for name, (_, seconds, stages) in rounds.items():
        before, highest, _, after = stages.values()
        targets.check(seconds < MAX_MANY_SECONDS, f"{name} in {seconds:.1f} s, under {MAX_MANY_SECONDS} s")
        growth, left = highest - before, after - before
        targets.check(growth < MAX_GROWTH_MIB, f"{name}: memory grows by {growth:.0f} MiB, under {MAX_GROWTH_MIB}")
        targets.check(left < MAX_LEFT_MIB, f'{name}: {left:.0f} MiB are left after "Clear", under {MAX_LEFT_MIB}')
    targets.exit()


if __name__ == "__main__":
    main()
