"""What "Compare" sets against what: the base of the differences, experts that differ, systems without validation."""

import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from compare_page import (
    COMPARE,
    FIRST_TWO,
    assert_sound,
    cards,
    charts,
    chips,
    click,
    made_run,
    made_scores,
    make_roots,
    npz_of,
    open_compare,
    said,
    tables_of,
    upload,
)
from lab_page import open_link

from app.sharing import share
from l2d_core.data import Scores


@pytest.fixture
def roots(monkeypatch, tmp_path):
    return make_roots(monkeypatch, tmp_path)


def differences(app):
    """The lines that say how systems differ."""
    return next(text.value for text in app.markdown if "interval" in text.value).replace("&#95;", "_").split("\n")


def shown_table(app):
    """The table of the classes, with its heads as a browser shows them."""
    table = next(table.value for table in app.table if "n" in table.value)
    return table.rename(columns=unescape)


@pytest.mark.usefixtures("roots")
def test_the_base_of_the_differences_is_chosen_stays_in_the_address_and_falls_back_when_it_is_taken_away():
    app = open_compare(*FIRST_TWO, "here/third")
    assert app.selectbox(key="compare_base").value == FIRST_TWO[0]
    assert "base" not in app.query_params  # the first one, as where nothing is said
    before = differences(app)
    app = app.selectbox(key="compare_base").set_value("here/third").run()
    assert_sound(app)
    assert app.query_params["base"] == "here/third"
    lines = differences(app)
    assert len(lines) == len(before) == 4
    assert all("third" in line for line in lines)
    assert sum("third" in line for line in before) == 2
    assert app.session_state["base"] == "here/third"  # what "Share this page" puts into a link
    app = app.button(key="chip-here/third").click().run()
    assert_sound(app)
    assert app.selectbox(key="compare_base").value == FIRST_TWO[0]
    assert "base" not in app.query_params
    assert not any("third" in line for line in differences(app))


@pytest.mark.usefixtures("roots")
def test_a_link_opens_with_the_base_that_it_names_and_is_told_of_one_that_is_not_compared():
    app = open_link(COMPARE, {"run": FIRST_TWO, "base": FIRST_TWO[1]})
    assert_sound(app)
    assert app.selectbox(key="compare_base").value == FIRST_TWO[1]
    app = app.button(key=share.OPEN).click().run()
    address = next(code.value for code in app.code if code.value.startswith("http"))
    assert parse_qs(urlsplit(address).query)["base"] == [FIRST_TWO[1]]
    for base in ("here/third", "../etc", "<b>"):
        app = open_link(COMPARE, {"run": FIRST_TWO, "base": base})
        assert app.selectbox(key="compare_base").value == FIRST_TWO[0]
        (note,) = [warning.value for warning in app.warning]
        assert "The baseline is the first system" in note
        assert "base" not in app.query_params
        assert not app.exception
        assert not app.error


@pytest.mark.usefixtures("roots")
def test_an_upload_can_be_the_base_and_is_in_no_address(tmp_path):
    app = upload(open_compare(*FIRST_TWO), ("mine.npz", npz_of(made_scores(seed=9), tmp_path)))
    app = app.selectbox(key="compare_base").set_value("upload/1").run()
    assert_sound(app)
    assert all("mine" in line for line in differences(app))
    assert "base" not in app.query_params
    app = app.button(key=share.OPEN).click().run()
    address = next(code.value for code in app.code if code.value.startswith("http"))
    assert "upload" not in address
    assert "base" not in parse_qs(urlsplit(address).query)
    assert said(app, "mine")
    app = click(app, "Forget")
    assert "mine was removed" in app.warning[0].value
    assert_sound(app.run())
    assert app.selectbox(key="compare_base").value == FIRST_TWO[0]


def test_systems_with_different_experts_each_have_their_own_expert_alone(roots):
    _, here = roots
    for name in ("same", "weaker"):
        made_run(here / name, seed=8)
    scores = Scores.load(here / "weaker" / "scores_test.npz")
    wrong = replace(scores, answers=np.where(np.arange(len(scores))[:, None] % 4 == 0, 0, scores.answers))
    wrong.save(here / "weaker" / "scores_test.npz")
    app = open_compare("here/weaker", "shipped/cifar10-one_vs_all", "here/same")
    assert_sound(app)
    rules = tables_of(charts(app, "System accuracy")[0])["rules"]
    shares = [float(one.answers[:, 0].__eq__(one.labels).mean()) for one in (wrong, scores)]
    assert rules["text"].tolist() == ["expert alone (weaker)", "expert alone (cifar10-one_vs_all, same)"]
    assert rules["y"].tolist() == pytest.approx(shares)
    assert rules["above"].tolist() == [False, True]
    assert rules["color"].nunique() == 2
    table = shown_table(app)
    first = scores.labels == 0
    for name, one in (("weaker", wrong), ("cifar10-one_vs_all, same", scores)):
        cell = table[f"expert alone ({name})"].iloc[0]
        assert cell == f"{100 * (one.answers[first, 0] == 0).mean():.1f}"
    assert "expert alone" not in table


@pytest.mark.usefixtures("roots")
def test_systems_with_the_same_expert_have_one_line_and_one_column(roots):
    _, here = roots
    made_run(here / "same", seed=8)
    app = open_compare("shipped/cifar10-one_vs_all", "here/same")
    assert tables_of(charts(app, "System accuracy")[0])["rules"]["text"].tolist() == ["expert alone"]
    table = shown_table(app)
    assert [name for name in table if "expert" in name] == ["expert alone"]


def test_a_run_without_validation_scores_is_compared_and_is_named_where_recalibration_leaves_it_as_it_is(roots):
    _, here = roots
    (made_run(here / "bare", seed=12) / "scores_validation.npz").unlink()
    scores = Scores.load(made_run(here / "unanswered", seed=13) / "scores_validation.npz")
    replace(scores, answers=np.full_like(scores.answers, -1)).save(here / "unanswered" / "scores_validation.npz")
    app = open_compare("here/third", "here/bare", "here/unanswered")
    assert_sound(app)
    assert chips(app) == ["third", "bare", "unanswered"]
    before = cards(app)
    app.session_state["recalibration"] = "platt"
    app.run()
    assert_sound(app)
    after = cards(app)
    assert "(was" in after[0]["ECE"]
    assert after[1:] == before[1:]
    (line,) = [element.value for element in app.html if "slope" in element.value]
    told = dict(re.findall(r"<b>(.*?)</b>: (.*?)(?: &nbsp;|</small>)", line))
    assert told["bare"] == "as it is, since it has no validation scores to fit on"
    assert told["unanswered"] == "as it is, since no expert has answered its validation cases"
    assert told["third"].startswith("expert: slope")
