"""A training that runs on a server while something else is measured, started from its page as a visitor does."""

import asyncio
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from server import ROOT
from session import Session

START_SECONDS = 120


@contextmanager
def training_job(url: str, runs_root: Path) -> Iterator[None]:
    """Have the server at url, whose jobs are in runs_root, train a small network; it is stopped at the end."""
    sys.path.insert(0, str(ROOT / "app"))
    from job_files import make_job
    from l2d_core.config import ExpertConfig, RunConfig
    from l2d_core.runs import HISTORY

    options = {"model": "wide_resnet", "model_options": {"depth": 10, "width": 1}, "augment": "none"}
    config = RunConfig(dataset="digits", expert=ExpertConfig(accuracy=(0.7,)), epochs=100_000, **options)
    link = make_job(runs_root, "in the background", config)
    _press(url, str(link), "Resume")
    end = time.monotonic() + START_SECONDS
    while not _has_epochs(runs_root / link.id / HISTORY):
        if time.monotonic() > end:
            raise SystemExit(f"the training did not start within {START_SECONDS} s")
        time.sleep(0.1)
    try:
        yield
    finally:
        try:
            _press(url, str(link), "Stop")
        except SystemExit as problem:  # what was measured meanwhile stands, and the server soon ends with its jobs
            print(problem, file=sys.stderr)


def _has_epochs(history: Path) -> bool:
    return history.exists() and history.read_text().count("\n") > 1


def _press(url: str, link: str, label: str) -> None:
    with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop already, the browser's
        pool.submit(asyncio.run, _open_and_press(url, link, label)).result()


async def _open_and_press(url: str, link: str, label: str) -> None:
    session = await Session.open(url, "train", f"job={link}")
    page = await session.run()
    if label not in page.buttons:
        raise SystemExit(f"the page has no button {label!r} for the training; it says: {' '.join(page.texts)[:300]}")
    await session.press(page, label)
    await session.close()
