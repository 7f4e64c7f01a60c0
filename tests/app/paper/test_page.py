"""The page "The paper": each figure is drawn from a result's tables, with the paper's numbers beside ours."""

import json
import re
from dataclasses import replace

import pytest
from lab_page import charts, open_home, spoken, tables_of
from paper_page import FINDINGS, PAPER, SETTING, assert_sound, keep, made, number, open_paper, words
from vega_lite import assert_valid

from app.paper import results, scoreboard
from app.paper.words import FINDINGS as FINDING_KINDS
from l2d_core.reproductions import ONLY_QUICK, REPRODUCTIONS
from l2d_core.reproductions.findings import KINDS, Finding
from l2d_core.reproductions.reproduction import as_table
from l2d_core.reproductions.request import SCALES

SHIPPED = results.ROOT
NUMBER_OF_CHARTS = {
    "figure1": 3,
    "figure2": 6,
    "table1": 1,
    "classifier_ece": 1,
    "k": 2,
    "coverage": 3,
    "ham10000": 4,
    "budgets": 4,
    "temperature": 1,
    "answers": 1,
}


@pytest.fixture(autouse=True)
def root(monkeypatch, tmp_path):
    """A folder for results, empty."""
    monkeypatch.setattr(results, "ROOT", tmp_path)
    return tmp_path


def only(app, start=""):
    (chart,) = charts(app, start)
    return tables_of(chart)


def test_the_page_offers_every_result_and_scale_that_the_command_line_makes():
    assert set(results.TITLES) == set(REPRODUCTIONS) == set(results.DETAILS)
    assert list(results.SCALES) == list(SCALES)
    assert results.ONLY_QUICK == ONLY_QUICK
    assert list(FINDING_KINDS) == list(KINDS)


@pytest.mark.parametrize("name", NUMBER_OF_CHARTS)
def test_each_result_is_drawn_with_texts_that_hold_numbers_and_tables_to_download(root, name):
    keep(root, name)
    app = open_paper(name)
    assert_sound(app)
    assert len(charts(app)) == NUMBER_OF_CHARTS[name]
    texts = spoken(app)
    assert len(texts) == len(charts(app))
    assert all(re.search(r"\d", text) for text in texts)
    for chart in charts(app):
        assert_valid(json.loads(chart.proto.spec))
    downloads = [button.proto.label for button in app.get("download_button")]
    assert len(downloads) == 1 + len(made(name).details)


def test_findings_are_shown_and_counted_by_their_kinds_whatever_their_sentences_say(root):
    keep(root, "k")
    told = words(open_paper("k"))
    assert all(finding.text in told for finding in FINDINGS)
    assert "3 findings: " in told
    assert all(part in told for part in ("**1** as in the paper", "**1** different from", "**1** inconclusive"))


def test_many_findings_are_folded_but_none_is_lost(root):
    findings = tuple(Finding("agrees", f"finding {place}") for place in range(20))
    keep(root, "k", result=made("k", findings=findings))
    app = open_paper("k")
    assert all(finding.text in words(app) for finding in findings)
    assert "14 more" in [expander.label for expander in app.expander]


def test_the_caption_says_scale_seeds_wall_time_and_versions(root):
    keep(root, "k")
    told = words(open_paper("k"))
    assert all(part in told for part in ("Scale quick", "3 seeds", "made in 1.5 s", "torch 9.8.7", "a note"))


def test_the_papers_number_is_beside_ours_and_other_numbers_are_not_in_that_table(root):
    keep(root, "table1")
    (table,) = open_paper("table1").table
    assert table.value["ours"].tolist() == ["10.00 ± 2.00 %"] * 2
    assert table.value["paper"].tolist() == ["0.97 %"] * 2
    assert table.value["seeds"].tolist() == ["3", "3"]


def test_figure1_marks_the_part_above_1_and_says_it_of_both_denominators(root):
    keep(root, "figure1")
    app = open_paper("figure1")
    bars = only(app, "Histogram of Softmax odds")["bars"]
    assert bars["right"].iloc[-1] > bars["left"].iloc[-1] == 3
    assert bars["bin"].iloc[-1] == "3.00 and more"
    assert only(app, "Histogram of Softmax odds")["note"]["text"].tolist() == ["above 1: 20.0% of all cases"]
    assert "Estimates above 1, of deferred: 10.00 ± 2.00 % (n = 250, 3 seeds; paper 39.40 %)" in words(app)
    assert "Estimates above 1: 10.00 ± 2.00 % (n = 250, 3 seeds)" in words(app)


def test_figure2_draws_negative_risks_which_are_in_no_bin_and_the_true_risk(root):
    keep(root, "figure2")
    tables = only(open_paper("figure2"), "Risk histogram of Softmax odds")
    below = tables["predicted"].iloc[0]
    assert below["bin"] == "below 0"
    assert below["share"] == pytest.approx(0.2)
    assert tables["true"]["share"].tolist() == [0.5, 0.5]


def test_figure2_without_any_estimate_above_1_is_drawn(root):
    result = made("figure2")
    none = result.details["above_one"].iloc[:0]
    keep(root, "figure2", result=replace(result, details={**result.details, "above_one": none}))
    app = open_paper("figure2")
    assert_sound(app)
    assert len(charts(app)) == 6


def test_table1_draws_ours_with_its_interval_and_the_papers_mark(root):
    keep(root, "table1")
    tables = only(open_paper("table1"))
    assert tables["papers"][["group", "title", "value"]].to_numpy().tolist() == [
        ["first", "Softmax odds", 0.0097],
        ["second", "Softmax odds", 0.0097],
    ]
    first = tables["ours"].set_index(["group", "title"])["value"]
    assert first["first", "One-vs-all"] == pytest.approx(0.3)
    assert tables["intervals"]["high"].iloc[0] == pytest.approx(0.12)


def test_lines_stand_a_little_aside_and_their_numbers_stay_what_they_are(root):
    keep(root, "k")
    points = only(open_paper("k"), "The paper")["points"]
    assert set(points["x"]) == {2, 3, 4}
    assert 0 < abs(points["drawn"] - points["x"]).max() < 0.1


def test_accuracy_against_coverage_is_of_the_machine_or_of_the_system(root):
    keep(root, "coverage")
    app = open_paper("coverage")
    before = [tables_of(chart)["points"]["y"].tolist() for chart in charts(app)]
    app.segmented_control(key="paper_accuracy").set_value("system_accuracy").run()
    assert_sound(app)
    assert [tables_of(chart)["points"]["y"].tolist() for chart in charts(app)] != before


@pytest.mark.parametrize("name", ["ham10000", "budgets"])
def test_results_on_lesions_say_that_they_are_no_diagnosis(root, name):
    keep(root, name)
    assert "Research demonstration, not for diagnosis" in open_paper(name).warning[0].value


def test_the_methods_of_the_paper_are_shown_first_and_others_when_they_are_chosen(root):
    keep(root, "budgets")
    app = open_paper("budgets")
    lines = {title for chart in charts(app) for title in tables_of(chart)["points"]["title"]}
    assert lines == {"Softmax", "One-vs-all", "Score", "Confidence", "Differentiable triage"}
    app.multiselect(key="paper_methods").set_value(["selective"]).run()
    assert {title for chart in charts(app) for title in tables_of(chart)["points"]["title"]} == {"Selective prediction"}
    app.multiselect(key="paper_methods").set_value([]).run()
    assert_sound(app)
    assert "Choose at least one method" in words(app)


def test_forced_and_capped_share_an_axis(root):
    keep(root, "budgets")
    ends = [tables_of(chart)["ends"]["y"].tolist() for chart in charts(open_paper("budgets"), "HAM10000")]
    assert len(ends) == 2
    assert ends[0] == ends[1]


@pytest.mark.parametrize("name", ["table1", "temperature", "k"])
def test_one_seed_has_no_interval_and_is_drawn(root, name):
    result = made(name)
    table = result.table.assign(half_width=None, standard_error=None, seeds=1)
    details = {key: own.assign(half_width=None) if "half_width" in own else own for key, own in result.details.items()}
    keep(root, name, "cpu", replace(result, table=table, details=details), seeds=[0])
    app = open_paper(name, scale="cpu")
    assert_sound(app)
    assert "intervals" not in tables_of(charts(app)[0])
    assert "1 seed;" in words(app)


def test_a_number_that_there_is_none_of_is_said_so(root):
    rows = [
        number(SETTING, "softmax", "odds", "ece", None, 0.01),
        number(SETTING, "one_vs_all", "sigmoid", "ece", 0.02),
    ]
    keep(root, "table1", result=made("table1", table=as_table(rows)))
    app = open_paper("table1")
    assert_sound(app)
    assert app.table[0].value["ours"].tolist() == ["n/a"]


def test_texts_of_a_result_are_shown_letter_by_letter(root):
    keep(
        root, "k", result=made("k", title="**T** <b>x</b>", findings=(Finding("beside", "[a](b)"),), notes=("![a](b)",))
    )
    shown = [part.value for part in [*open_paper("k").markdown]]
    assert not [text for text in shown if "](" in text or "**T" in text]


@pytest.mark.parametrize("scale", ["quick", "cpu", "paper"])
def test_a_result_that_is_not_there_is_said_so_with_the_command_that_makes_it(scale):
    app = open_paper("figure1", scale=scale)
    assert not app.exception
    assert "is not shipped at this scale" in words(app)
    command = f"python -m l2d_core reproduce figure1 --scale {scale} --out pretrained/paper/{scale}"
    assert app.code[0].value.startswith(command)
    assert not charts(app)


def test_a_result_that_only_the_quick_scale_has_leads_back_to_it(root):
    keep(root, "ham10000")
    app = open_paper("ham10000", scale="paper")
    assert "only at the scale Quick" in words(app)
    next(button for button in app.button if "scale Quick" in button.label).click().run()
    assert_sound(app)
    assert len(charts(app)) == NUMBER_OF_CHARTS["ham10000"]


def test_the_scoreboard_has_a_row_for_each_result_that_opens_it(root):
    for name in ("k", "table1"):
        keep(root, name)
    app = open_paper("k")
    rows = {button.label: button for button in app.button}
    assert list(rows)[: len(results.TITLES)] == list(results.TITLES.values())
    assert words(app).count("not made at this scale") == len(results.TITLES) - 2
    rows[results.TITLES["table1"]].click().run()
    assert_sound(app)
    assert app.session_state["result"] == "table1"
    assert len(charts(app)) == NUMBER_OF_CHARTS["table1"]


def test_the_scoreboard_counts_directions_and_sizes_apart():
    inside, outside, one_seed = 0.11, 0.2, 0.3
    rows = [number(SETTING, "softmax", "odds", "ece", 0.1, paper) for paper in (inside, outside, None)]
    rows += [number(SETTING, "softmax", "proxy", "ece", 0.3, one_seed, seeds=1)]
    agrees, differs, unclear, beside = (Finding(kind, "text") for kind in ("agrees", "differs", "open", "beside"))
    result = made("table1", table=as_table(rows), findings=(agrees, agrees, differs, unclear, beside))
    score = scoreboard.score_of("table1", result)
    assert (score.direction, score.size, score.own) == ((2, 1, 1), (1, 1, 1), 1)
    sized = scoreboard.score_of("figure2", replace(result, findings=(agrees, agrees, differs, unclear, beside)))
    assert sized.direction == (1, 0, 0)  # three of the findings are on the sizes


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((2, 0, 1), ":blue[:material/check_circle:] 2 of 2 as in the paper"),
        ((1, 2, 0), ":violet[:material/contrast:] 1 of 3 as in the paper"),
        ((0, 2, 0), ":orange[:material/cancel:] 0 of 2 as in the paper"),
        ((0, 0, 1), ":gray[:material/radio_button_unchecked:] inconclusive"),
        ((0, 0, 1, 2), ":gray[:material/radio_button_unchecked:] partly significant; the paper has no number"),
        ((0, 0, 0, 2), ":gray[:material/radio_button_unchecked:] nothing to compare"),
        ((0, 0, 0), ":gray[:material/radio_button_unchecked:] nothing to compare"),
    ],
)
def test_a_score_has_its_own_colour_shape_and_words(counts, words):
    assert scoreboard._say(counts[:3], *counts[3:]) == words


def test_an_address_names_the_result_and_the_scale(root):
    keep(root, "k", "cpu")
    app = open_home().switch_page(PAPER)
    app.query_params["result"] = results.TITLES["k"]
    app.query_params["scale"] = results.SCALES["cpu"].title
    app.run()
    assert_sound(app)
    assert "Scale cpu" in words(app)


def test_the_way_to_another_page_and_back_keeps_the_result(root):
    keep(root, "k")
    app = open_paper("k")
    app.switch_page("home/page.py").run()
    app.switch_page(PAPER).run()
    assert_sound(app)
    assert app.selectbox(key="result").value == "k"


def shipped():
    return [path.parent.relative_to(SHIPPED).parts for path in sorted(SHIPPED.glob("*/*/manifest.json"))]


@pytest.mark.parametrize(("scale", "name"), shipped())
def test_every_shipped_result_is_drawn_and_its_findings_on_sizes_are_those_of_the_papers_numbers(
    monkeypatch, scale, name
):
    """The others, which the scoreboard counts, are on directions."""
    monkeypatch.setattr(results, "ROOT", SHIPPED)
    app = open_paper(name, scale=scale)
    assert_sound(app)
    assert charts(app)
    result = results.load(scale, name).result
    sizes = [finding for finding in result.findings if "the paper's " in finding.text and ": ours " in finding.text]
    assert len(sizes) == (result.table["paper"].notna().sum() if name in scoreboard.SIZED else 0)
