"""Error against budget of whole networks on the page "The paper": one seed, fewer methods and data sets."""

import pytest
from lab_page import charts
from paper_page import assert_sound, keep, made, number, open_paper, words

from app.paper import results
from l2d_core.reproductions.reproduction import as_table

LEFT_OUT = "confidence_as_written"


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    """A folder for results, empty."""
    monkeypatch.setattr(results, "ROOT", tmp_path)
    return tmp_path


def networks():
    """A result as `reproduce budgets --scale cpu` keeps it for one seed."""
    curves = made("budgets").details["curves"]
    curves = curves[(curves["method"] != LEFT_OUT) & (curves["dataset"] == "galaxy_zoo")]
    table = as_table([{**number("Galaxy Zoo, budget 20%, forced", "triage", "", "error", 0.2), "half_width": None}])
    return made("budgets", table=table, details={"curves": curves.assign(half_width=float("nan"), seeds=1)})


def test_it_is_drawn_without_intervals_lesions_or_the_method_that_is_left_out(root):
    keep(root, "budgets", "cpu", networks(), seeds=[0])
    app = open_paper("budgets", scale="cpu")
    assert_sound(app)
    assert len(charts(app)) == 2
    assert LEFT_OUT not in app.multiselect(key="paper_methods").options
    assert "as the paper's text has it" not in " ".join(app.multiselect(key="paper_methods").options)
    assert "1 seed" in words(app)
    assert "not for diagnosis" not in words(app)


def test_where_it_is_not_made_yet_the_page_says_how(root):
    keep(root, "budgets")
    app = open_paper("budgets", scale="cpu")
    assert not app.exception
    assert "reproduce budgets --scale cpu" in "\n".join(code.value for code in app.code)
