"""Results of the paper that cannot be read: each is said, without a path or a traceback."""

import json

import pytest
from lab_page import charts
from paper_page import keep, made, open_paper, words

from app.paper import results


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    """A folder for results, empty."""
    monkeypatch.setattr(results, "ROOT", tmp_path)
    return tmp_path


def test_a_result_is_loaded_as_it_was_kept(root):
    keep(root, "k")
    stored = results.load("quick", "k")
    assert stored.result.title == "Result k"
    assert stored.result.table.equals(made("k").table)


def no_json(folder):
    (folder / "manifest.json").write_text("{")


def no_text(folder):
    (folder / "manifest.json").write_bytes(b"\xff\xfe\xff")


def no_table(folder):
    (folder / "curve.csv").unlink()


def other_table(folder):
    (folder / "curve.csv").write_text("k,surrogate\n2,softmax\n")


def newer(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))


DAMAGES = {no_json: "JSON|Expecting", no_text: "decode", no_table: "curve.csv", other_table: "curve.csv", newer: "99"}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_a_damaged_result_is_said_with_the_command_that_makes_it_anew(root, damage):
    damage(keep(root, "k"))
    with pytest.raises((OSError, ValueError), match=DAMAGES[damage]):
        results.load("quick", "k")
    app = open_paper("k")
    assert not app.exception
    assert "cannot be read" in app.error[0].value
    assert str(root) not in words(app)
    assert "reproduce k --scale quick" in app.code[0].value
    assert not charts(app)


def test_a_result_in_the_folder_of_another_is_not_taken_for_it(root):
    keep(root, "k").rename(root / "quick" / "figure1")
    with pytest.raises(ValueError, match="must be of figure1 at the scale quick, it is of k at the scale quick"):
        results.load("quick", "figure1")


CHANGES = {
    "missing": (lambda table: None, "table curve is missing"),
    "column": (lambda table: table.drop(columns="surrogate"), "columns surrogate"),
    "empty": (lambda table: table.iloc[:0], "must have rows"),
    "text": (lambda table: table.assign(mean="much"), "mean in the table curve must hold numbers"),
    "endless": (lambda table: table.assign(mean=float("inf")), "mean in the table curve must be finite"),
    "unknown": (lambda table: table.assign(surrogate="magic"), "must be one of .*one_vs_all.* got 'magic'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_no_chart_can_draw_is_refused(root, change):
    alter, message = CHANGES[change]
    table = alter(made("k").details["curve"])
    keep(root, "k", result=made("k", details={} if table is None else {"curve": table}))
    with pytest.raises(ValueError, match=message):
        results.load("quick", "k")
    app = open_paper("k")
    assert not app.exception
    assert app.error


def test_an_unknown_rule_of_budgets_is_refused(root):
    curves = made("budgets").details["curves"].assign(rule="loose")
    keep(root, "budgets", result=made("budgets", details={"curves": curves}))
    with pytest.raises(ValueError, match="rule in the table curves must be one of forced, capped"):
        results.load("quick", "budgets")
