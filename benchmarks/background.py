"""Trainings of visitors of a server; one that runs while something else is measured, started from its page."""

import asyncio
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from session import Session

from l2d_core.common.paths import PROGRAM

START_SECONDS = 120


def made_training(runs_root: Path, seed: int = 0) -> str:
    """The link of a training that has not started: a small network, for as long as one likes."""
    sys.path.insert(0, str(PROGRAM / "app"))
    from app.jobs.folder import make_job
    from l2d_core.config import ExpertConfig, RunConfig

    options = {"model": "wide_resnet", "model_options": {"depth": 10, "width": 1}, "augment": "none"}
    expert = ExpertConfig(accuracy=(0.7,))
    config = RunConfig(dataset="digits", expert=expert, epochs=100_000, patience=None, seed=seed, **options)
    return str(make_job(runs_root, f"training {seed}", config))


@contextmanager
def training_job(url: str, runs_root: Path) -> Iterator[None]:
    """Have the server at url, whose jobs are in runs_root, train a small network; it is stopped at the end."""
    from l2d_core.runs.folder import HISTORY

    link = made_training(runs_root)
    _press(url, link, "Resume")
    end = time.monotonic() + START_SECONDS
    while not _has_epochs(runs_root / link.partition(".")[0] / HISTORY):
        if time.monotonic() > end:
            raise SystemExit(f"the training did not start within {START_SECONDS} s")
        time.sleep(0.1)
    try:
        yield
    finally:
        try:
            _press(url, link, "Stop")
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
