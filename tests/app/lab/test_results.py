"""What the live lab shows of each data set: that it is all there, sound, and what the library computes."""

import json

import altair as alt
import pytest
from lab_page import TITLES, assert_sound, cards, charts, open_lab, percents, spoken, summary, tables_of, texts

from app.fits.experiment import in_fast_precision
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.measures import SUMMARY
from l2d_core.evaluation.summary import summarise
from l2d_core.experts.simulated import expert_correct_probability, per_class
from l2d_core.lab import heads

MEDICAL_NOTE = "not for diagnosis"
SURROGATES = ("softmax", "one_vs_all", "asymmetric_softmax")


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
    assert any("When may we believe" in text for text in texts(app))
    assert any(dataset.source in text for text in texts(app))
    assert any(dataset.noise_name == text for text in texts(app))


def test_only_a_medical_data_set_is_said_to_be_no_diagnosis(opened):
    app, dataset, _, _ = opened
    assert any(MEDICAL_NOTE in text for text in texts(app)) == dataset.is_medical


def test_classes_are_named_in_full(opened):
    app, dataset, _, _ = opened
    labels = [slider.label for slider in app.sidebar.slider]
    assert labels[: len(dataset.class_names)] == [dataset.class_titles.get(k, k) for k in dataset.class_names]


def test_it_says_what_was_trained_and_scored(opened):
    app, dataset, _, _ = opened
    splits = dataset.load(0, dataset.default_noise)
    line = next(caption.value for caption in app.caption if caption.value.startswith("Trained"))
    assert f"{len(splits.train):,} cases" in line
    assert f"{len(splits.test):,} test cases" in line


def test_the_key_numbers_are_those_of_the_library(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])
    expected = {f"ECE, {title}": written(rows.loc[(name, "ece")]) for name, title in TITLES.items()}
    expected |= {
        "Accuracy, Softmax system": written(rows.loc[("odds", "system")]),
        "Accuracy, One-vs-all system": written(rows.loc[("sigmoid", "system")]),
        "Accuracy, Asymmetric softmax system": written(rows.loc[("probability", "system")]),
    }
    assert cards(app) == expected


def test_the_table_holds_each_measure_of_each_estimate_with_its_n(opened):
    app, _, _, numbers = opened
    table = summary(app)
    assert list(table) == list(TITLES.values())
    assert list(table.index) == [measure.title for measure in SUMMARY.values()]
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
    assert len({chart.proto.alt for chart in charts(app)}) == len(charts(app)) == len(spoken(app))
    for name, title in TITLES.items():
        (text,) = spoken(app, f"Reliability diagram of {title}")
        assert f"ECE {written(rows.loc[(name, 'ece')])}" in text
        (text,) = spoken(app, f"Histogram of the risk predicted by {title}")
        assert written(rows.loc[(name, "risk_distance")]) in text
    assert all(written(rows.loc[("sigmoid", "system")]) in text for text in spoken(app, "Lines of the system accuracy"))


def test_each_chart_is_a_valid_specification(opened):
    app, _, _, _ = opened
    for chart in charts(app):
        spec = json.loads(chart.proto.spec)
        del spec["config"]  # holds a setting of Vega that the schema of Vega-Lite does not know
        alt.LayerChart.from_dict(spec, validate=True)


def test_reliability_diagrams_draw_each_test_case_once(opened):
    app, _, fit, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])
    for name, title in TITLES.items():
        drawn = tables_of(charts(app, f"Reliability diagram of {title}")[0])
        scored = len(fit.scores["softmax"][0])
        assert drawn["bins"]["cases"].sum() == pytest.approx(scored)
        assert drawn["above"]["cases"].sum() == pytest.approx(scored * rows.loc[(name, "above_one"), "mean"])


def test_risk_histograms_draw_each_test_case_once_beside_the_true_risk(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])
    for name, title in TITLES.items():
        drawn = tables_of(charts(app, f"Histogram of risk by {title}")[0])
        assert drawn["predicted"]["share"].sum() == pytest.approx(1)
        assert drawn["true"]["share"].sum() == pytest.approx(1)
        below_zero = drawn["predicted"].loc[drawn["predicted"]["left"] < 0, "share"]
        assert below_zero.to_list() == pytest.approx([rows.loc[(name, "above_one"), "mean"]])


def test_coverage_curves_run_from_the_expert_alone_to_the_machine_alone(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])["mean"]
    curves = tables_of(charts(app, "System accuracy")[0])["curves"]
    assert set(curves["line"]) == {"this system", "optimal deferral", "random deferral"}
    for system, estimator in (("Softmax system", "odds"), ("One-vs-all system", "sigmoid")):
        for _, line in curves[curves["system"] == system].groupby("line"):
            ends = line.set_index("coverage")["accuracy"]
            assert ends[0.0] == pytest.approx(rows[estimator, "expert_alone"])
            assert ends[1.0] == pytest.approx(rows[estimator, "machine_alone"])


def test_the_systems_own_choices_are_marked(opened):
    app, _, _, numbers = opened
    rows = numbers.set_index(["estimator", "measure"])["mean"]
    points = tables_of(charts(app, "System accuracy")[0])["points"].set_index("system")
    for system, estimator in (("Softmax system", "odds"), ("One-vs-all system", "sigmoid")):
        assert points.loc[system, "coverage"] == pytest.approx(rows[estimator, "coverage"])
        assert points.loc[system, "accuracy"] == pytest.approx(rows[estimator, "system"])


def test_only_data_whose_truth_is_known_are_compared_with_it_case_by_case_and_in_the_plane(opened):
    app, dataset, _, _ = opened
    known = dataset.class_probability is not None
    assert len(charts(app)) == (4 + 4 + 2) + (4 if known else 0)
    maps = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert [text.split(" defers ")[0] for text in maps] == (
        [f"Map of the plane: {name}" for name in ("Bayes rule", "Softmax system", "One-vs-all system")]
        + ["Map of the plane: Asymmetric softmax system"]
        if known
        else []
    )
    assert any(text == "Is each single estimate right?" for text in texts(app)) == known
    assert any(text == "Where does it defer?" for text in texts(app)) == known
