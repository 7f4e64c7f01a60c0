"""What the live lab shows of each data set: that it is all there, sound, and what the library computes."""

import json

import altair as alt
import pytest
from lab_page import (
    TITLES,
    assert_sound,
    cards,
    charts,
    open_lab,
    percents,
    show,
    spoken,
    summary,
    tables_of,
    texts,
)

from app.fits.experiment import in_fast_precision
from l2d_core.datasets import LAB_DATASETS
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
VIEWS = ("reliability", "above", "risk", "accuracy")


def written(row):
    """A mean with its interval, in percent, as the page writes it."""
    return f"{100 * row['mean']:.1f} ± {100 * row['half_width']:.1f} %"


@pytest.fixture(scope="module", params=list(LAB_DATASETS))
def opened(request):
    """Each data set's first page, with two seeds and all four estimates, beside the library's numbers for it."""
    from app.fits import shared

    shared.fit_board.clear()
    name = request.param
    app = open_lab(data=name, seeds=2, asymmetric=True)
    dataset = LAB_DATASETS[name]
    splits = dataset.load(0, dataset.default_noise)
    confusion = per_class([percent / 100 for percent in percents(app, name, dataset.class_names)])
    fit = heads.fit(
        splits.train,
        splits.test,
        confusion,
        surrogates=SURROGATES,
        seeds=[0, 1],
        config=in_fast_precision(dataset.head),
    )
    truth = confusion.diagonal()[splits.test.labels].numpy()
    if dataset.class_probability is not None:
        known = dataset.class_probability(splits.test.inputs.numpy(), dataset.default_noise)
        truth = expert_correct_probability(confusion, splits.test.inputs.new_tensor(known).double()).numpy()
    return app, dataset, fit, summarise(fit.scores, true_probability=truth)


def test_the_page_of_a_data_set_is_sound(opened):
    app, dataset, _, _ = opened
    assert_sound(app)
    assert [title.value for title in app.title] == ["Live lab"]
    assert any(dataset.source in text for text in texts(app))
    assert any(dataset.noise_name == text for text in texts(app))


def test_only_a_medical_data_set_is_said_to_be_no_diagnosis(opened):
    app, dataset, _, _ = opened
    assert any(MEDICAL_NOTE in text for text in texts(app)) == dataset.is_medical


def test_classes_are_named_in_full(opened):
    app, dataset, _, _ = opened
    labels = [row["label"] for row in json.loads(app.get("bidi_component")[0].proto.json)["rows"]]
    assert labels == ["All classes", *(dataset.class_titles.get(k, k) for k in dataset.class_names)]


def test_it_says_what_was_trained_and_scored(opened):
    app, dataset, _, _ = opened
    splits = dataset.load(0, dataset.default_noise)
    line = next(caption.value for caption in app.caption if "Trained on" in caption.value)
    assert f"{len(splits.train):,} cases" in line
    assert f"{len(splits.test):,} test cases" in line


def test_the_key_numbers_are_those_of_the_library(opened):
    app, _, _, numbers = opened
    means = numbers.set_index(["estimator", "measure"])["mean"]
    expected = {}
    for name, title in TITLES.items():
        for measure, unit in (("ece", "% ECE"), ("above_one", "% above 1")):
            expected[title, unit] = f"{100 * means[name, measure]:.1f}"
    for title, name in SYSTEMS.items():
        for measure, unit in (("system", "% right"), ("coverage", "% kept")):
            expected[title, unit] = f"{100 * means[name, measure]:.1f}"
    assert cards(app) == expected


def test_the_table_holds_each_measure_of_each_estimate_with_its_n(opened):
    app, _, _, numbers = opened
    table = summary(app)
    assert list(table) == list(TITLES.values())
    assert sorted(table.index) == sorted(measure.title for measure in SUMMARY.values())
    for row in numbers.to_dict("records"):
        measure = SUMMARY[row["measure"]]
        cell = table.loc[measure.title, TITLES[row["estimator"]]]
        n = f"{row['n']:,.0f}" if row["n"] == int(row["n"]) else f"{row['n']:,.1f}"
        assert cell.endswith(f"(n = {n})")
        if row["n"] > 0 and measure.percent:
            assert cell.startswith(written(row))


def test_each_chart_has_a_name_and_a_text_for_screen_readers_that_says_its_numbers(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])
    for view, start, measure in (("reliability", "Reliability", "ece"), ("risk", "Histogram", "risk_distance")):
        show(app, view)
        on_stage = charts(app, start)
        assert len({chart.proto.alt for chart in on_stage}) == len(on_stage) == 4
        for name, title in TITLES.items():
            (text,) = (one for one in spoken(app, start) if f"{title}." in one)
            assert written(rows.loc[(name, measure)]) in text
    show(app, "accuracy")
    assert any(written(rows.loc[("sigmoid", "system")]) in text for text in spoken(app, "System accuracy"))


@pytest.mark.parametrize("view", VIEWS)
def test_each_chart_is_a_valid_specification_side_by_side_and_overlaid(opened, view):
    app = show(opened[0], view)
    assert_sound(app)
    side_by_side = charts(app)
    overlaid = charts(assert_sound(show(app, view, overlay=True)) or app)
    assert 1 <= len(overlaid) < len(side_by_side)
    show(app, view)
    for chart in [*side_by_side, *overlaid]:
        spec = json.loads(chart.proto.spec)
        del spec["config"]  # holds a setting of Vega that the schema of Vega-Lite does not know
        alt.LayerChart.from_dict(spec, validate=True)


def test_reliability_diagrams_draw_each_test_case_once(opened):
    app, _, fit, numbers = opened
    show(app, "reliability")
    rows = numbers.set_index(["estimator", "measure"])
    for name, title in TITLES.items():
        drawn = tables_of(charts(app, f"Reliability diagram of {title}")[0])
        scored, above = len(fit.scores["softmax"][0]), rows.loc[(name, "above_one"), "mean"]
        assert drawn["bins"]["cases"].sum() == pytest.approx(scored * (1 - above))
        assert drawn["above"]["cases"].sum() == pytest.approx(scored * above)


def test_histograms_draw_each_test_case_once_and_the_true_risk_where_it_is_known_for_each_case(opened):
    app, dataset, _, numbers = opened
    above = numbers.set_index(["estimator", "measure"])["mean"].xs("above_one", level="measure")
    known = dataset.class_probability is not None
    show(app, "risk")
    for name, title in TITLES.items():
        drawn = tables_of(charts(app, f"Histogram of risk by {title}")[0])
        assert drawn["predicted"]["share"].sum() == pytest.approx(1)
        assert drawn["true"]["share"].sum() == pytest.approx(1 if known else 0)
        below_zero = drawn["predicted"].loc[drawn["predicted"]["left"] < 0, "share"]
        assert below_zero.to_list() == pytest.approx([above[name]])
    show(app, "above")
    for name, title in TITLES.items():
        bars = tables_of(charts(app, f"Histogram of the estimates of {title}")[0])["bars"]
        assert bars["share"].sum() == pytest.approx(1)
        assert bars.loc[bars["left"] >= 1, "share"].sum() == pytest.approx(above[name])
        assert (bars["right"] <= bars["share"] + 1e-12).all()


def test_charts_that_are_compared_share_their_axes(opened):
    app = opened[0]
    for view, start, dataset, column in (
        ("risk", "Histogram of risk", "predicted", "share"),
        ("above", "Histogram of the estimates", "bars", "share"),
    ):
        show(app, view)
        drawn = [tables_of(chart) for chart in charts(app, start)]
        highest = max(tables[dataset][column].max() for tables in drawn)
        assert [tables["highest"]["share"].item() for tables in drawn] == [highest] * 4


def test_coverage_curves_run_from_the_expert_alone_to_the_machine_alone_and_mark_the_systems_choice(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])["mean"]
    show(app, "accuracy")
    for title, estimator in SYSTEMS.items():
        drawn = tables_of(charts(app, f"System accuracy against coverage, {title}")[0])
        assert set(drawn["curves"]["line"]) == {"system", "optimal deferral", "random deferral"}
        for _, line in drawn["curves"].groupby("line"):
            ends = line.set_index("coverage")["accuracy"]
            assert ends[0.0] == pytest.approx(rows[estimator, "expert_alone"])
            assert ends[1.0] == pytest.approx(rows[estimator, "machine_alone"])
        (point,) = drawn["points"].to_dict("records")
        assert (point["coverage"], point["accuracy"]) == pytest.approx(
            (rows[estimator, "coverage"], rows[estimator, "system"])
        )


def test_only_data_whose_truth_is_known_are_compared_with_it_case_by_case_and_in_the_plane(opened):
    app, dataset, _, _ = opened
    known = dataset.class_probability is not None
    assert len(charts(app, "")) - len(charts(show(app, "reliability"), "Reliability")) == (4 if known else 0)
    maps = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert len(maps) == (4 if known else 0)
    assert all(text.startswith("Map of the plane: ") for text in maps)
