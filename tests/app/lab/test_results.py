"""What the live lab shows of a data set: that it is all there, sound, and what the library computes."""

import json
from dataclasses import dataclass, replace

import pandas as pd
import pytest
from lab_page import TITLES, assert_sound, cards, charts, open_lab, percents, show, spoken, summary, tables_of, texts
from streamlit.testing.v1 import AppTest
from vega_lite import assert_valid

from app.fits.experiment import in_fast_precision
from l2d_core.data import Splits
from l2d_core.datasets import LAB_DATASETS, LabDataset
from l2d_core.evaluation.measures import SUMMARY
from l2d_core.evaluation.summary import summarise
from l2d_core.experts.simulated import expert_correct_probability, per_class
from l2d_core.lab import heads

MEDICAL_NOTE = "not for diagnosis"
SURROGATES = ("softmax", "one_vs_all", "asymmetric_softmax")
SYSTEMS = {  # title -> an estimator of its surrogate
    "Softmax system": "odds",
    "One-vs-all system": "sigmoid",
    "Asymmetric softmax system": "probability",
}
VIEWS = ("reliability", "corp", "above", "risk", "accuracy")
EPOCHS = 3


@dataclass(frozen=True)
class Opened:
    """A data set's page, all that its stage can show, and the library's rows of numbers for it.

    stage: (view, whether overlaid) -> the charts, and their texts for screen readers.
    """

    app: AppTest
    dataset: LabDataset
    splits: Splits
    numbers: pd.DataFrame
    stage: dict

    def charts(self, view, start="", *, overlay=False):
        return [chart for chart in self.stage[view, overlay][0] if chart.proto.alt.startswith(start)]

    def tables(self, view, start):
        return tables_of(self.charts(view, start)[0])

    def texts(self, view, start):
        return [text for text in self.stage[view, False][1] if text.startswith(start)]

    def means(self):
        return self.numbers.set_index(["estimator", "measure"])["mean"]


def written(row):
    """A mean with its interval, in percent, as the page writes it."""
    return f"{100 * row['mean']:.1f} ± {100 * row['half_width']:.1f} %"


@pytest.fixture(scope="module", params=["gaussians", "ham10000", "cifar10"])
def opened(request):
    """With two seeds and all four estimates. The other data sets are opened by test_extremes.py."""
    name = request.param
    dataset = LAB_DATASETS[name]
    app = open_lab(data=name, seeds=2, asymmetric=True, **{f"{name}_epochs": EPOCHS})
    assert_sound(app)
    stage = {}
    for overlay in (True, False):
        for view in reversed(VIEWS):
            assert_sound(show(app, view, overlay=overlay))
            stage[view, overlay] = charts(app), spoken(app)
    splits = dataset.load(0, dataset.default_noise)
    confusion = per_class([percent / 100 for percent in percents(app, name, dataset.class_names)])
    return Opened(app, dataset, splits, library_numbers(dataset, splits, confusion), stage)


def library_numbers(dataset, splits, confusion):
    """The library's summary of the same fit."""
    config = replace(in_fast_precision(dataset.head), epochs=EPOCHS)
    fit = heads.fit(splits.train, splits.test, confusion, surrogates=SURROGATES, seeds=[0, 1], config=config)
    truth = confusion.diagonal()[splits.test.labels].numpy()
    if dataset.class_probability is not None:
        known = dataset.class_probability(splits.test.inputs.numpy(), dataset.default_noise)
        truth = expert_correct_probability(confusion, splits.test.inputs.new_tensor(known).double()).numpy()
    return summarise(fit.scores, true_probability=truth)


def test_the_page_names_its_data_its_classes_and_what_was_trained_and_scored(opened):
    app, dataset = opened.app, opened.dataset
    assert [title.value for title in app.title] == ["Live lab"]
    assert any(dataset.source in text for text in texts(app))
    assert any(dataset.noise_name == text for text in texts(app))
    labels = [row["label"] for row in json.loads(app.get("bidi_component")[0].proto.json)["rows"]]
    assert labels == ["All classes", *(dataset.class_titles.get(k, k) for k in dataset.class_names)]
    line = next(caption.value for caption in app.caption if "Trained on" in caption.value)
    assert f"{len(opened.splits.train):,} cases" in line
    assert f"{len(opened.splits.test):,} test cases" in line


def test_only_a_medical_data_set_is_said_to_be_no_diagnosis(opened):
    assert any(MEDICAL_NOTE in text for text in texts(opened.app)) == opened.dataset.is_medical


def test_the_key_numbers_are_those_of_the_library(opened):
    means, expected = opened.means(), {}
    for name, title in TITLES.items():
        for measure, unit in (("ece", "% ECE"), ("above_one", "% above 1")):
            expected[title, unit] = f"{100 * means[name, measure]:.1f}"
    for title, name in SYSTEMS.items():
        for measure, unit in (("system", "% right"), ("coverage", "% kept")):
            expected[title, unit] = f"{100 * means[name, measure]:.1f}"
    assert cards(opened.app) == expected


def test_the_table_holds_each_measure_of_each_estimate_with_its_n(opened):
    table = summary(opened.app)
    assert list(table) == list(TITLES.values())
    assert sorted(table.index) == sorted(measure.title for measure in SUMMARY.values())
    for row in opened.numbers.to_dict("records"):
        measure = SUMMARY[row["measure"]]
        cell = table.loc[measure.title, TITLES[row["estimator"]]]
        n = f"{row['n']:,.0f}" if row["n"] == int(row["n"]) else f"{row['n']:,.1f}"
        assert cell.endswith(f"(n = {n})")
        if row["n"] > 0 and measure.percent:
            assert cell.startswith(written(row))


def test_each_chart_has_a_name_and_a_text_for_screen_readers_that_says_its_numbers(opened):
    rows = opened.numbers.set_index(["estimator", "measure"])
    for view, start, measure in (("reliability", "Reliability", "ece"), ("risk", "Histogram", "risk_distance")):
        on_stage = opened.charts(view, start)
        assert len({chart.proto.alt for chart in on_stage}) == len(on_stage) == 4
        for name, title in TITLES.items():
            (text,) = (one for one in opened.texts(view, start) if f"{title}." in one)
            assert written(rows.loc[(name, measure)]) in text
    assert any(written(rows.loc[("sigmoid", "system")]) in text for text in opened.texts("accuracy", "System accuracy"))


@pytest.mark.parametrize("view", VIEWS)
def test_each_chart_is_a_valid_specification_side_by_side_and_overlaid(opened, view):
    side_by_side, overlaid = opened.charts(view), opened.charts(view, overlay=True)
    assert 1 <= len(overlaid) < len(side_by_side)
    for chart in [*side_by_side, *overlaid]:
        assert_valid(json.loads(chart.proto.spec))


def test_reliability_diagrams_draw_each_test_case_once(opened):
    means, scored = opened.means(), len(opened.splits.test)
    for name, title in TITLES.items():
        drawn = opened.tables("reliability", f"Reliability diagram of {title}")
        assert drawn["bins"]["cases"].sum() == pytest.approx(scored * (1 - means[name, "above_one"]))
        assert drawn["above"]["cases"].sum() == pytest.approx(scored * means[name, "above_one"])


def test_diagrams_without_bins_rise_count_each_test_case_once_and_say_their_p_value(opened):
    means, scored = opened.means(), len(opened.splits.test)
    for name, title in TITLES.items():
        drawn = opened.tables("corp", f"Reliability diagram without bins of {title}")
        assert drawn["curve"]["share_correct"].is_monotonic_increasing
        assert (drawn["curve"]["band_low"] <= drawn["curve"]["band_high"]).all()
        assert drawn["bins"]["count"].sum() == pytest.approx(scored)
        (text,) = opened.texts("corp", f"Reliability diagram of {title} without bins")
        assert f"{SUMMARY['kuiper_p_value'].text(means[name, 'kuiper_p_value'])} (n = {scored:,})" in text


def test_histograms_draw_each_test_case_once_and_the_true_risk_where_it_is_known_for_each_case(opened):
    above = opened.means().xs("above_one", level="measure")
    known = opened.dataset.class_probability is not None
    for name, title in TITLES.items():
        drawn = opened.tables("risk", f"Histogram of risk by {title}")
        assert drawn["predicted"]["share"].sum() == pytest.approx(1)
        assert drawn["true"]["share"].sum() == pytest.approx(1 if known else 0)
        below_zero = drawn["predicted"].loc[drawn["predicted"]["left"] < 0, "share"]
        assert below_zero.to_list() == pytest.approx([above[name]])
        bars = opened.tables("above", f"Histogram of the estimates of {title}")["bars"]
        assert bars["share"].sum() == pytest.approx(1)
        assert bars.loc[bars["left"] >= 1, "share"].sum() == pytest.approx(above[name])
        assert (bars["right"] <= bars["share"] + 1e-12).all()


def test_charts_that_are_compared_share_their_axes(opened):
    for view, start, table in (
        ("risk", "Histogram of risk", "predicted"),
        ("above", "Histogram of the estimates", "bars"),
    ):
        drawn = [tables_of(chart) for chart in opened.charts(view, start)]
        highest = max(tables[table]["share"].max() for tables in drawn)
        assert [tables["highest"]["share"].item() for tables in drawn] == [highest] * 4


def test_coverage_curves_run_from_the_expert_alone_to_the_machine_alone_and_mark_the_systems_choice(opened):
    means = opened.means()
    for title, estimator in SYSTEMS.items():
        drawn = opened.tables("accuracy", f"System accuracy against coverage, {title}")
        assert set(drawn["curves"]["line"]) == {"system", "optimal deferral", "random deferral"}
        for _, line in drawn["curves"].groupby("line"):
            ends = line.set_index("coverage")["accuracy"]
            assert ends[0.0] == pytest.approx(means[estimator, "expert_alone"])
            assert ends[1.0] == pytest.approx(means[estimator, "machine_alone"])
        (point,) = drawn["points"].to_dict("records")
        assert (point["coverage"], point["accuracy"]) == pytest.approx(
            (means[estimator, "coverage"], means[estimator, "system"])
        )


def test_only_data_whose_truth_is_known_are_compared_with_it_case_by_case_and_in_the_plane(opened):
    known = opened.dataset.class_probability is not None
    others = len(opened.charts("reliability")) - len(opened.charts("reliability", "Reliability"))
    assert others == (4 if known else 0)
    maps = [chart.proto.alt for chart in opened.app.get("plotly_chart")]
    assert len(maps) == (4 if known else 0)
    assert all(text.startswith("Map of the plane: ") for text in maps)
