"""The live lab in a browser's window: opening it, waiting for it, moving its sliders, and reading what it shows."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

DIGITS, GAUSSIANS = "Handwritten digits", "Gaussians in the plane (truth known)"
QUICK = {"data": DIGITS, "seeds": 1, "digits_epochs": 4}
CHANGED = "before => JSON.stringify([...document.querySelectorAll('.kpi')].map(card => card.innerText)) !== before"
CARDS = "JSON.stringify([...document.querySelectorAll('.kpi')].map(card => card.innerText))"
ALERTS = '[data-testid="stException"], [data-testid="stAlertContentError"], [data-testid="stAlertContentWarning"]'
RUN_IS_OVER = """() =>
    document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning' &&
    !document.querySelector('[data-stale=true]')"""
SETTLED = f"{RUN_IS_OVER} && document.querySelectorAll('[data-testid=stVegaLiteChart] svg').length >= 3"


def open_lab(page, server, **settings):
    """Go to the lab by a link that holds these settings, and wait until it has drawn all."""
    page.goto(f"{server}/lab?{urlencode(settings)}")
    settle(page)


def wait_for_run(page, timeout=60_000):
    """Until the page's script is not running; what an earlier run drew is gone then."""
    page.wait_for_function(RUN_IS_OVER, timeout=timeout)


def settle(page):
    """Wait until the script is done and all charts are drawn."""
    page.wait_for_function(SETTLED)
    assert page.locator(ALERTS).count() == 0, page.locator(ALERTS).first.inner_text()


def change(page, act):
    """Do something that changes the key numbers, and wait until all is drawn anew."""
    before = page.evaluate(CARDS)
    act()
    page.wait_for_function(CHANGED, arg=before)
    settle(page)


def slider(page, name):
    """The slider whose label starts with this word."""
    return page.get_by_role("slider", name=re.compile(rf"^{re.escape(name)}\b"))


def press(page, name, *keys):
    """Press keys on a slider."""
    slider(page, name).focus()
    for key in keys:
        page.keyboard.press(key)


def set_bins(page, key):
    """Press a key on the slider of the bins, in its panel."""
    page.get_by_role("button", name="Bins", exact=True).click()
    press(page, "Bins", key)
    page.keyboard.press("Escape")


def cards(page):
    """The texts of the key numbers, in order."""
    return page.locator(".kpi").all_inner_texts()


def chart(page, start):
    """The chart whose accessible name starts like this."""
    return page.locator(f'[role="graphics-document"][aria-label^="{start}"]')


def spoken(page, start):
    """What a screen reader reads for a chart, where it starts like this."""
    return page.locator(".for-screen-readers").filter(has_text=re.compile(rf"^{start}")).text_content()


def query(page):
    """What the address says of the settings."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
