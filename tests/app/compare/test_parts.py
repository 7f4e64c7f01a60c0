"""The parts of the page "Compare": the table of many runs, cases, looks, words, pictures, and the report."""

import io
import re
import time
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from compare_page import made_scores
from PIL import Image
from vega_lite import assert_valid

from app.compare import charts, choice, images, report
from app.compare import numbers as compare_numbers
from app.compare.board import Comparison, EstimateSettings
from app.compare.cases import Filter
from app.compare.evaluation import Evaluation
from app.kit import charts as kit_charts
from app.kit.looks import looks_of
from app.kit.numbers import p_value
from app.kit.text import plain_table
from l2d_core.comparison import estimates as side_by_side
from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.difference import Difference
from l2d_core.comparison.systems import System
from l2d_core.evaluation.estimator_view import corp
from l2d_core.evaluation.recalibration import RECALIBRATIONS

HOSTILE = "</svg><script>alert(1)</script>\"'&"


def evaluation(names=("a", "b"), view=None, settings=None, **point):
    """A evaluation of made-up systems: the first is of softmax, the others of one-vs-all."""
    losses = ["softmax", *["one_vs_all"] * 5]
    systems = [
        System(name, *(made_scores(seed=k + part, surrogate=losses[k]) for part in (0, 40)), "run", settings)
        for k, name in enumerate(names)
    ]
    return Evaluation(Comparison(systems), view or EstimateSettings(), point.get("cost", 0.0), point.get("budget", 1.0))


def index_of(count):
    """The table of so many runs, as `list_runs` has it."""
    settings = {"dataset": "cifar10", "surrogate": "softmax", "seed": 0, "model": "small_resnet"}
    rows = [
        {
            "key": f"here/run-{k}",
            "root": "here",
            "name": f"run-{k}",
            "settings": settings | {"seed": k, "dataset": ("cifar10", "digits")[k % 2]},
            "measures": {"system_accuracy": 0.8, "coverage": 0.9, "ece_odds": 0.05},
            "problem": "",
            "epochs_done": 3,
            "test_cases": 100,
            "wall_seconds": 12.0,
            "device": "cpu",
            "changed": 1.7e9,
        }
        for k in range(count)
    ]
    return pd.DataFrame(rows)


def test_a_thousand_runs_are_filtered_and_laid_out_in_well_under_a_second():
    runs = index_of(1000)
    start = time.process_time()  # not the wall clock: other programs may be running
    found = choice.filter_runs(runs, "run-77 digits", [])
    table = choice.run_table(runs, ["here/run-3"])
    assert time.process_time() - start < 0.5
    assert found["name"].tolist() == ["run-77", "run-771", "run-773", "run-775", "run-777", "run-779"]
    assert choice.filter_runs(runs, "", ["digits"])["key"].tolist() == [f"here/run-{k}" for k in range(1, 1000, 2)]
    assert table[""].tolist().count("✓") == 1
    assert {"seed"} < set(table)  # it differs
    assert "model" not in table  # it does not


def test_a_setting_that_differs_is_shown_whatever_it_holds():
    runs = index_of(2)
    runs.loc[1, "settings"]["expert.accuracy"] = [0.1, 0.2]
    assert choice.run_table(runs, [])["expert.accuracy"].tolist() == ["", "[0.1, 0.2]"]


def test_a_filter_finds_the_same_cases_as_a_slow_search():
    one = evaluation()
    view, deferred = one.views[0], one.deferred[0]
    table = one.reliability["a"]
    for low, high, n in zip(table["low"], table["high"], table["n"], strict=True):
        limits = Filter.bin(low, high, table["low"].iloc[0])
        assert len(Filter(estimates=limits).rows(view, deferred)) == n
    rows = Filter(label=2, right="expert", asked="asked").rows(view, deferred)
    wanted = [
        k
        for k in range(len(view))
        if view.labels[k] == 2 and view.expert_correct[k] and not view.machine_correct[k] and deferred[k]
    ]
    assert sorted(rows) == wanted
    assert (np.diff(view.defer_margin[rows]) <= 0).all()


def test_a_part_of_the_coverage_curve_holds_its_share_of_the_cases():
    one = evaluation()
    parts = [(0.0, 0.25), (0.25, 0.5), (0.5, 1.0)]
    found = [Filter(coverage=part).rows(one.views[1], one.deferred[1]) for part in parts]
    assert [len(rows) for rows in found] == [100, 100, 200]
    assert sorted(np.concatenate(found)) == list(range(400))
    assert (
        one.views[1].defer_margin[found[0]].max() <= one.views[1].defer_margin[found[2]].min()
    )  # kept first where little is gained


def test_systems_keep_the_colour_of_their_surrogate_and_no_two_look_alike():
    systems = [System(str(k), made_scores(), None) for k in range(5)] + [System("s", made_scores(surrogate="softmax"))]
    looks = looks_of([one.test.surrogate for one in systems], [one.name for one in systems])
    assert looks[0].color == "#0072B2"
    assert looks[5].color == "#D55E00"
    for part in ("color", "shape", "dash"):
        assert len({getattr(look, part) for look in looks}) == 6


def test_differences_are_told_with_their_interval_and_only_where_they_are_clear():
    better = Difference(0.012, 0.004, 0.02, 10_000)
    assert compare_numbers.accuracy_words("A", "B", better) == (
        "B is 1.2 points more accurate than A (95 % interval 0.4 to 2.0, n = 10,000)"
    )
    unclear = Difference(-0.003, -0.01, 0.004, 500)
    assert compare_numbers.accuracy_words("A", "B", unclear) == (
        "B and A do not differ significantly: 0.3 points less accurate (95 % interval -0.4 to 1.0, n = 500)"
    )
    worse = Difference(0.0023, 0.0012, 0.0034, 2000)
    assert compare_numbers.calibration_words("A", "B", worse) == (
        "B is 23.0 squared points worse calibrated than A (95 % interval 12.0 to 34.0, n = 2,000)"
    )


def test_a_recalibration_that_makes_a_system_worse_is_warned_of_with_its_numbers():
    test, other = made_scores(seed=1, surrogate="one_vs_all"), made_scores(seed=2, surrogate="one_vs_all")
    always_wrong = replace(other, answers=(other.labels[:, None] + 1) % other.num_classes)
    comparison = Comparison([System("a", test, always_wrong), System("b", test, test)])
    assert Evaluation(comparison, EstimateSettings(), 0.0, 1.0).harms == []
    recalibrated = Evaluation(comparison, EstimateSettings(recalibration="isotonic"), 0.0, 1.0)
    (line,) = recalibrated.harms
    assert line.startswith("Recalibration makes a worse on these test cases. System accuracy ")
    assert "points); ECE " in line
    assert "Coverage" in line
    assert line.endswith("after.")
    assert "Recalibration makes a worse" in report.page(recalibrated)


def test_every_chart_is_a_valid_vega_lite_chart_and_has_finite_data():
    one = replace(evaluation(("a", "b", "c"), cost=0.05, budget=0.3), marked=np.array([3, 5]))
    for name, spec in report.specs(one).items():
        assert_valid(spec)
        drawn = next(spec["datasets"][key] for key in ("bins", "bars", "lines") if key in spec["datasets"])
        assert len(drawn) > 4, name
    for spec in (one.reliability_chart(0), one.coverage_chart()):
        assert [param["name"] for layer in spec["layer"] for param in layer.get("params", [])] in (
            [charts.BIN],
            [charts.RANGE],
        )


def test_the_diagram_without_bins_is_drawn_in_place_of_the_binned_one_with_its_numbers():
    one = evaluation(view=EstimateSettings(diagram="corp"))
    alone = report.specs(one)["reliability-2"]
    assert_valid(alone)
    spec = one.reliability_chart(1)
    curve = spec["datasets"]["curve"].to_pandas()
    expected = corp(one.views[1])
    assert curve["share_correct"].tolist() == expected["share_correct"].tolist()
    assert spec["datasets"]["bins"]["count"].to_pylist() == one.reliability["b"]["cases"].tolist()


def test_the_measures_of_calibration_are_shown_with_their_n_and_the_p_value_in_words():
    one = evaluation()
    table = compare_numbers.calibration_table(one.names, one.numbers)
    assert table.loc["p-value, Kuiper's test", "b"].endswith("(n = 400)")
    parts = [float(table.loc[name, "b"].split(" %")[0]) for name in ("ECE", "Overconfidence", "Underconfidence")]
    assert abs(parts[0] - parts[1] - parts[2]) < 0.02
    said = compare_numbers.is_calibrated_words(one.numbers[1])
    assert f"{p_value(one.numbers[1]['kuiper_p_value'].value)}, n = 400" in said
    assert (p_value(0.0123), p_value(1e-9)) == ("p = 0.0123", "p < 0.0001")


def test_marked_cases_are_in_the_charts_of_every_system_where_their_estimates_are():
    one = replace(evaluation(), marked=np.array([3, 5]))
    for place in range(2):
        marks = one.reliability_chart(place)["datasets"]["marks"].to_pandas()
        assert marks["id"].tolist() == ["3", "5"]
        assert marks["probability"].tolist() == one.views[place].probability[[3, 5]].tolist()
        assert marks["right"].tolist() == one.views[place].expert_correct[[3, 5]].astype(float).tolist()


def test_the_bin_that_is_looked_at_is_lit_in_its_own_chart_alone():
    one = evaluation()
    edges = one.reliability["b"].iloc[4]
    chosen = Filter(place=1, estimates=Filter.bin(edges["low"], edges["high"], 0.0))
    lit = [replace(one, chosen=chosen).reliability_chart(k)["datasets"]["bins"]["chosen"].to_pylist() for k in (0, 1)]
    assert [flags.count(True) for flags in lit] == [0, 1]
    assert lit[1][4]


def test_what_is_asked_adds_up_in_the_histogram_of_risk():
    one = evaluation(cost=0.02)
    for place, name in enumerate(one.names):
        table = one.risk[name]
        assert np.isclose(table["share"].sum(), 1)
        assert np.isclose(table["share_deferred"].sum(), one.deferred[place].mean())
        assert (table["share_deferred"] <= table["share"] + 1e-12).all()


def test_the_report_holds_all_charts_and_numbers_and_reaches_for_nothing():
    view = EstimateSettings(recalibration="platt")
    page = report.page(evaluation(("a", "b", "c"), view, {"seed": 1}, cost=0.1))
    assert page.count("<svg") == 8
    words = (
        "System accuracy",
        "before recalibration",
        "Correct and incorrect answers",
        "cost of asking",
        "0.10",
        "slope",
    )
    for part in words:
        assert part in page
    without_names = page.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert not re.search(r"https?://|<script|<link|@import|\bsrc=", without_names)
    assert "default-src 'none'" in page


def test_every_text_of_the_report_is_escaped():
    page = report.page(evaluation((HOSTILE, "<img src=x>"), settings={HOSTILE: HOSTILE, "dataset": "ham10000"}))
    assert "<script" not in page
    assert "<img" not in page
    assert "not for diagnosis" in page
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(picture)


def test_logged_outputs_have_a_report_of_what_is_known_of_them():
    scores = made_scores(60)
    logged = LoggedOutputs(scores.logits, scores.expert_correct[:, 0], "one_vs_all", 0)
    one = Evaluation(Comparison([System("logged", logged, None, "upload", {})]), EstimateSettings(), 0.1, 0.5)
    page = report.page(one)
    assert page.count("<svg") == 2
    assert "not known" in page
    assert "Correct and incorrect answers" not in page


def test_the_charts_come_as_svg_and_png():
    with zipfile.ZipFile(io.BytesIO(report.pictures(evaluation(("a",))))) as archive:
        assert sorted(archive.namelist()) == sorted(
            f"{name}.{kind}" for name in ("reliability-1", "risk-1", "coverage", "budget") for kind in ("svg", "png")
        )
        for name in archive.namelist():
            if name.endswith("png"):
                assert Image.open(io.BytesIO(archive.read(name))).width > 500


def test_pictures_are_found_by_the_ids_of_the_data_sets_and_by_no_other_path(tmp_path):
    for name in ("cifar10/test/cat/0007.png", "ham10000/images/ISIC_0024306.jpg", "secret.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.arange(3072, dtype=np.uint8).reshape(32, 32, 3)).save(tmp_path / name)
    outside = ["../secret", "test/cat/../../../secret", "12"]
    ids = ["test/cat/0007", "ISIC_0024306", "ISIC_9999999", *outside, "test/cat/0008"]
    found = images.thumbnails(ids, str(tmp_path))
    assert list(found) == ids[:2]
    assert images.thumbnails(ids, "") == {}


def test_estimates_above_one_are_drawn_apart_wherever_there_can_be_any():
    for method in RECALIBRATIONS:
        one = evaluation(view=EstimateSettings(recalibration=method))
        for place, view in enumerate(one.views):
            bounded = one.comparison.is_bounded(place, one.settings)
            assert one.comparison.above_one(place, one.settings)["cases"].sum() == (view.probability > 1).sum()
            assert not (bounded and (view.probability > 1).any()), method
    assert not evaluation(view=EstimateSettings(recalibration="temperature")).comparison.is_bounded(
        0, EstimateSettings(recalibration="temperature")
    )


def test_equal_names_are_told_apart():
    assert evaluation(("a", "a", "a")).names == ["a", "a, this machine", "a (2)"]


def test_looking_again_computes_nothing_again(monkeypatch):
    calls, view_system = [], side_by_side.view_system
    monkeypatch.setattr(
        side_by_side, "view_system", lambda *args, **options: calls.append(1) or view_system(*args, **options)
    )
    one = evaluation()
    assert len(one.views) == len(calls) == 2
    for cost in (0.1, 0.2):
        assert replace(one, cost=cost).numbers
    assert len(calls) == 2


def test_charts_of_ever_new_names_are_not_kept_for_ever():
    assert charts._curves_spec.cache_info().maxsize == charts.SPECS_KEPT  # it holds the names of all systems
    kept = (charts._risk_spec, kit_charts._reliability_spec)
    before = [one.cache_info().currsize for one in kept]
    for name in ("c", "d", "e"):
        one = evaluation((name,))
        assert one.reliability_chart(0)
        assert one.risk_chart(0)
    assert sum(one.cache_info().currsize for one in kept) - sum(before) <= 2  # one each, whatever the name


def test_names_are_no_markdown_in_tables():
    name = "![x](http://127.0.0.1:9/x.png)"
    one = evaluation((name,))
    by_class = compare_numbers.class_table(one.classes, one.experts)
    for table in (compare_numbers.confusion_table(one.confusion), by_class):
        shown = plain_table(table)
        assert not [text for text in (*shown.columns, *shown.index) if "](" in str(text)]
