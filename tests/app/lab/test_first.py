"""What the lab opens with: shipped, equal to a fit, and drawn before anything slow is imported."""

import subprocess
import sys

import numpy as np
from lab_page import APP, assert_sound, cards, message, move, open_lab, summary

from app.fits.settings import Binning
from app.lab import first, make_first
from l2d_core.common.paths import PROGRAM

SLOW = ["torch", "sklearn", "scipy", "altair", "timm", "distributed"]
DRAW_LAB = """
import sys
from streamlit.testing.v1 import AppTest
import streamlit as st
from app.fits import shared
shared.warm_up, chart, drawn = lambda: None, st.vega_lite_chart, []
def watched(*arguments, **options):
    drawn.append({slow!r} & sys.modules.keys())
    return chart(*arguments, **options)
st.vega_lite_chart = watched
lab = AppTest.from_file({app!r} + "/Home.py", default_timeout=60).run()
drawn.clear()
lab.switch_page("lab/page.py").run()
assert not lab.exception, lab.exception[0].value
assert [title.value for title in lab.title] == ["Live lab"]
assert drawn == [set()] * 3, f"imported before the charts were drawn: {{drawn}}"
assert not {slow!r} & sys.modules.keys(), "imported by the rest of the page"
"""


def test_the_lab_is_drawn_before_anything_slow_is_imported():
    code = DRAW_LAB.format(app=str(APP), slow=set(SLOW))
    done = subprocess.run([sys.executable, "-c", code], cwd=PROGRAM, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_what_the_lab_opens_with_is_shown_without_a_fit_and_the_first_move_and_other_bins_are_fitted(fits):
    app = open_lab()
    assert_sound(app)
    assert not fits
    opened = cards(app), message(app), summary(app)
    app = move(app, cifar10_cat=90)
    assert len(fits) == 1
    assert cards(app) != opened[0]
    app = move(app, cifar10_cat=75)
    assert (cards(app), message(app)) == opened[:2]
    assert len(fits) == 1
    app.slider(key="bins").set_value(10).run()
    assert_sound(app)
    assert len(fits) == 2
    assert any("ECE: over 10 bins" in caption.value for caption in app.caption)


def test_the_shipped_result_is_that_of_a_fit():
    """To within what rounding moves: heads train in bfloat16 or in float32, whichever the processor is fast at."""
    fitted, shipped = make_first.fitted(), first.result(first.settings(), Binning())
    for name in ("num_train", "num_test", "class_names"):
        assert getattr(fitted, name) == getattr(shipped, name)
    assert (fitted.tables.true_risk, fitted.plane, fitted.tables.is_bounded) == (None, None, shipped.tables.is_bounded)
    ours, theirs = make_first.arrays_of(fitted), make_first.arrays_of(shipped)
    assert list(ours) == list(theirs)
    for key, one in ours.items():
        assert one.dtype.kind == theirs[key].dtype.kind, key
        if one.dtype.kind == "U":
            assert one.tolist() == theirs[key].tolist(), key
    for key in ("summary/all/mean", "curves/softmax/system_accuracy", "curves/one_vs_all/system_accuracy"):
        np.testing.assert_allclose(ours[key], theirs[key], atol=0.01, err_msg=key)
    for estimator in fitted.tables.reliability:
        for table in ("drawn", "risk", "estimates"):
            column = "cases" if table == "drawn" else "share"
            key, scale = f"{table}/{estimator}/{column}", fitted.num_test if table == "drawn" else 1
            np.testing.assert_allclose(ours[key] / scale, theirs[key] / scale, atol=0.006, err_msg=key)


def test_a_file_made_with_other_settings_is_not_shown(monkeypatch):
    made_with, result = first._content()
    monkeypatch.setattr(first, "_content", lambda: (made_with | {"alpha": 0.5}, result))
    assert first.result(first.settings(), Binning()) is None


def test_a_session_without_a_link_begins_with_the_settings_of_the_file(monkeypatch):
    asked, real = [], first.result
    monkeypatch.setattr(first, "result", lambda *wanted: asked.append(wanted) or real(*wanted))
    open_lab()
    assert asked == [(first.settings(), Binning())]
