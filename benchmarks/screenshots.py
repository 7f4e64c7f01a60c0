"""Pictures of the pages for the README: python benchmarks/screenshots.py [ADDRESS of a running app].

Without an address the app is started for it, without data sets beside what is shipped. Needs a browser as the browser
tests do. Writes docs/*.png, with 128 colours, so that they stay small.
"""

import io
import sys
from collections.abc import Callable

from chromium import launch
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from server import LAB_APP, running

from l2d_core.common.paths import PROGRAM

DOCS = PROGRAM / "docs"
SIZE = {"width": 1400, "height": 900}
DONE = """() =>
    document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning' &&
    !document.querySelector('[data-stale=true], [data-testid=stSkeleton]') &&
    [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].every((one) => one.querySelector('svg, canvas'))"""
PATIENCE_MS = 180_000


def _drawing(page: Page) -> None:
    page.get_by_role("button", name="Try a drawn example").click()
    page.get_by_text("Drop images above").wait_for(state="detached")


def _nothing(_page: Page) -> None:
    return


# Name of the picture -> path with settings, and what to do before it is taken.
PICTURES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "home": ("", _nothing),
    "live-lab": ("lab", _nothing),
    "learn": ("learn?step=4", _nothing),
    "skin-lesions": ("lesions", _drawing),
    "train": ("train", _nothing),
    "compare": ("compare", _nothing),
    "paper": ("paper", _nothing),
}


def take(address: str) -> None:
    """Take all pictures of the app at this address."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, (path, act) in PICTURES.items():
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.set_default_timeout(PATIENCE_MS)
            page.goto(f"{address}/{path}")
            page.get_by_role("heading", level=1).wait_for()
            act(page)
            page.wait_for_timeout(1000)
            page.wait_for_function(DONE)
            page.wait_for_timeout(2000)  # what moves comes to rest
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.quantize(128).save(DOCS / f"{name}.png", optimize=True)
            print(DOCS / f"{name}.png", (DOCS / f"{name}.png").stat().st_size)
            page.close()
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take(sys.argv[1].rstrip("/"))
    else:
        with running(LAB_APP) as server:
            take(server.url)
