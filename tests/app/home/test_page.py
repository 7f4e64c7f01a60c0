"""Home: one slider, one chart, one sentence, the way to the lab, and nothing slow before it is drawn."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from lab_page import APP, LAB, open_home

from app.home import make_table, state, table
from app.lab import first
from l2d_core.common.paths import PROGRAM
from l2d_core.datasets import cifar10

SLOW = ["torch", "sklearn", "scipy", "pandas", "pyarrow", "altair", "plotly", "timm", "distributed", "matplotlib"]
DRAW_HOME = """
import sys
import streamlit.testing.v1
before = set(sys.modules)  # of plotly Streamlit itself imports a part, as soon as it starts
from app.fits import shared
warm_up, started = shared.warm_up, []
shared.warm_up = lambda: started.append("torch" in sys.modules)
from streamlit.testing.v1 import AppTest
home = AppTest.from_file({app!r} + "/Home.py", default_timeout=60).run()
assert not home.exception, home.exception[0].value
assert [title.value for title in home.title] == ["Learning to defer"]
assert started == [False], "torch was imported before Home was drawn"
slow = {{name for name in sys.modules if name not in before and name.partition(".")[0] in {slow!r}}}
assert not slow, f"imported before Home was drawn: {{sorted(slow)[:9]}}"
assert "l2d_core.lab.heads" not in sys.modules
shared.WARM_UP_AFTER = 0
warm_up().join(60)
assert {{"torch", "l2d_core.lab.heads"}} <= set(sys.modules)
"""


def in_a_new_python(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=PROGRAM, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_home_is_drawn_before_anything_slow_is_imported_and_then_the_library_is_imported_in_the_background():
    in_a_new_python(DRAW_HOME.format(app=str(APP), slow=SLOW))


def test_importing_the_library_imports_nothing_slow():
    slow = {"streamlit", *SLOW}
    in_a_new_python(f"import sys, l2d_core; found = {slow!r} & sys.modules.keys(); assert not found, found")


def home_at(percent):
    home = open_home()
    return home.slider(key=state.ACCURACY).set_value(percent).run()


def sentence(home):
    (found,) = [part.value for part in home.markdown if part.value.startswith("**Softmax odds")]
    return found.replace("\u00a0", " ")


def test_home_shows_one_slider_one_chart_one_sentence_and_one_primary_button():
    home = open_home()
    assert not home.exception
    assert (len(home.slider), len(home.get("vega_lite_chart"))) == (1, 1)
    assert [button.label for button in home.button if button.proto.type == "primary"] == ["Open the live lab"]
    assert sentence(home)


@pytest.mark.parametrize("percent", [20, 75, 100])
def test_the_sentence_and_the_chart_hold_the_numbers_of_the_expert_that_is_set(percent):
    home, numbers = home_at(percent), table.of_expert(percent)
    shown = [numbers["odds"].above_one, numbers["odds"].right_above_one]
    assert [written(share) in sentence(home) for share in shown] == [True, True]
    assert all(f"by {100 * one.ece:.1f}" in sentence(home) for one in numbers.values())
    points = json.loads(home.get("vega_lite_chart")[0].proto.spec)["layer"][5]["data"]["values"]
    assert [point["right"] for point in points] == [right for one in numbers.values() for _, right, _ in one.bins]


def written(share):
    return f"{100 * share:.1f} %"


def test_an_expert_whom_no_estimate_overrates_is_said_to_stay_below_100_percent(monkeypatch):
    numbers = table.of_expert(75)
    below = {**numbers, "odds": replace(numbers["odds"], above_one=0.0, right_above_one=None)}
    monkeypatch.setattr(table, "of_expert", lambda _percent: below)
    assert "Softmax odds stay below 100 % here." in sentence(open_home())


def test_the_shipped_file_has_every_expert_its_source_and_no_nan():
    content = json.loads(table.PATH.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert list(content["experts"]) == [str(percent) for percent in table.ACCURACIES]
    assert content["licence"] == cifar10.LICENCE
    assert "Krizhevsky 2009" in content["source"]


def test_the_shipped_numbers_are_those_of_the_lab_for_the_same_expert():
    """To within what rounding moves: heads train in bfloat16 or in float32, whichever the processor is fast at."""
    fitted, shipped = make_table.numbers_of(75), table.of_expert(75)
    for name in table.ESTIMATORS:
        for measure in ("ece", "above_one", "right_above_one"):
            ours, theirs = fitted[name][measure], getattr(shipped[name], measure)
            assert ours == pytest.approx(theirs, abs=0.01), (name, measure)
        cases = [cases for _, _, cases in shipped[name].bins]
        assert [one[2] for one in fitted[name]["bins"]] == pytest.approx(cases, abs=60), name


def test_the_primary_button_opens_the_lab_with_the_settings_of_the_shipped_numbers(monkeypatch):
    asked = []

    def refuse(settings, _binning):
        asked.append(settings)
        raise ValueError("nothing is shown here")

    monkeypatch.setattr(first, "result", refuse)
    for percent in (60, table.DEFAULT):
        lab = home_at(percent).button[0].click().run()
        assert lab.title[0].value == "Live lab"
        assert asked[-1] == make_table.settings_of(percent)


def test_the_other_pages_are_compact_links():
    links = [link.proto.page for link in open_home().get("page_link")]
    assert links == ["learn", "lesions", "train", "compare", "paper", "about"]


def test_the_way_back_from_the_lab_is_home():
    app = open_home().switch_page(LAB).run()
    assert [title.value for title in app.title] == ["Live lab"]
    app.switch_page("home/page.py").run()
    assert [title.value for title in app.title] == ["Learning to defer"]
    assert not app.exception
