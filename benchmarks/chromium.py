"""The Chromium that benchmarks, browser tests and screenshots run in, the same one wherever it is installed."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

SHELL = "chromium-headless-shell"  # has no windows, and takes less of the processor for each page
OTHER_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class NoBrowser(RuntimeError):
    """There is neither Playwright's Chromium nor one of the system's."""


def launch(playwright: Playwright) -> Browser:
    """Start the system's headless shell, else Playwright's own Chromium, else another one; NoBrowser without any."""
    own = playwright.chromium.executable_path
    found = [shutil.which(SHELL), own if Path(own).is_file() else None, *map(shutil.which, OTHER_PROGRAMS)]
    program = next(filter(None, found), None)
    if program is None:
        raise NoBrowser("no browser: neither Playwright's (playwright install chromium) nor a system Chromium")
    return playwright.chromium.launch(executable_path=program, args=FLAGS)
