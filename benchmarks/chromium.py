"""The Chromium that benchmarks, browser tests and screenshots run in: Playwright's own, or else the system's."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

# The shell, which has no windows, first: it takes less of the processor for each page.
SYSTEM_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
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
    """Start it; NoBrowser where there is none."""
    own = playwright.chromium.executable_path
    program = own if Path(own).is_file() else next(filter(None, map(shutil.which, SYSTEM_PROGRAMS)), None)
    if program is None:
        raise NoBrowser("no browser: neither Playwright's (playwright install chromium) nor a system Chromium")
    return playwright.chromium.launch(executable_path=program, args=FLAGS)
