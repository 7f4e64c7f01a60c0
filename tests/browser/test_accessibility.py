"""axe-core on every page, light and dark: no violation that it calls serious or critical, and headings in order."""

from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab_window import QUICK, wait_for_run
from playwright.sync_api import expect

PAGES = {
    "home": ("", {}),
    "learn": ("learn", {"step": 4}),
    "lab": ("lab", QUICK),
    "lesions": ("lesions", {}),
    "train": ("train", {}),
    "compare": ("compare", {}),
    "paper": ("paper", {}),
    "budgets": ("paper", {"result": "budgets"}),
    "about": ("about", {}),
}
GRAVE = ("serious", "critical")
ALSO = ("heading-order", "page-has-heading-one", "empty-heading")  # axe calls them moderate or minor
BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}  # as in .streamlit/config.toml
BRUSH = "[class*=_brush]"  # the rectangle that one draws over a chart: Vega gives it a role and takes no name for it


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_violation_or_skips_a_level_of_headings(page, server, name):
    path, settings = PAGES[name]
    page.emulate_media(color_scheme="light")
    page.goto(f"{server}/{path}?{urlencode(settings)}")
    page.get_by_role("heading", level=1).wait_for()
    wait_for_run(page)
    for scheme, background in BACKGROUNDS.items():
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", background)
        page.wait_for_timeout(500)  # the script runs again once the browser has reported its theme
        wait_for_run(page)
        page.wait_for_timeout(500)  # charts are drawn after the script
        assert not (grave := violations(page)), "\n".join([scheme, *grave])


def violations(page):
    """What axe says of the page as it is."""
    return [
        f"{one['id']}: {one['help']}\n    " + "\n    ".join(node["html"][:200] for node in one["nodes"][:4])
        for one in Axe().run(page, context={"exclude": [BRUSH]}).response["violations"]
        if one["impact"] in GRAVE or one["id"] in ALSO
    ]
