"""axe-core on every page, light and dark: no violation that it calls serious or critical, and headings in order."""

from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab_window import QUICK, wait_for_run

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_violation_or_skips_a_level_of_headings(page, server, name, scheme):
    path, settings = PAGES[name]
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/{path}?{urlencode(settings)}")
    page.get_by_role("heading", level=1).wait_for()
    wait_for_run(page)
    page.wait_for_timeout(500)  # a new session runs the script again once the browser has told its theme
    wait_for_run(page)
    page.wait_for_timeout(500)  # for charts, which are drawn after the script
    background = page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    assert background == BACKGROUNDS[scheme]
    found = Axe().run(page, context={"exclude": [BRUSH]}).response["violations"]
    grave = [
        f"{one['id']}: {one['help']}\n    " + "\n    ".join(node["html"][:200] for node in one["nodes"][:4])
        for one in found
        if one["impact"] in GRAVE or one["id"] in ALSO
    ]
    assert not grave, "\n".join(grave)
