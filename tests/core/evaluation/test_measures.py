"""The comparison of estimators: every number against the direct calls, its n, and what happens over no cases."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_scores import random_scores, scores_from_lists

from l2d_core.calibration.binned import calibration_error, calibration_error_by_chance, reliability_table
from l2d_core.calibration.brier import brier_decomposition
from l2d_core.calibration.cumulative import cutoff_calibration_error, kuiper_test, spiegelhalter_test
from l2d_core.calibration.smooth import smooth_calibration_error
from l2d_core.data import Scores
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import above_one, reliability, risk_histogram
from l2d_core.evaluation.measures import MEASURES, SUMMARY, ece_column, measure_of, measure_title
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.evaluation.summary import coverage_curves, measure, pooled_view, summarise
from l2d_core.surrogates import SURROGATES


def untied_scores(seed, surrogate="softmax"):
    """Random scores without equal estimates, which another order of operations could tell apart by rounding."""
    scores = random_scores(seed=seed, surrogate=surrogate)
    noise = np.random.default_rng(seed).normal(size=scores.logits.shape)
    return replace(scores, logits=scores.logits + 0.01 * noise)


SEEDS = [untied_scores(seed) for seed in range(3)]
BOTH = {"softmax": SEEDS, "one_vs_all": [untied_scores(seed, "one_vs_all") for seed in range(3)]}
TRUTH = np.random.default_rng(9).uniform(size=60)
T_3 = 4.302652729911275  # the 97.5 % quantile of Student's t with 2 degrees of freedom


def softmax_odds(scores):
    weight = np.exp(scores.logits)
    return weight[:, -1] / weight[:, :-1].sum(axis=1)


def softmax_proxy(scores):
    weight = np.exp(scores.logits)
    return weight[:, -1] / weight.sum(axis=1)


def sigmoid(scores):
    return 1 / (1 + np.exp(-scores.logits[:, -1]))


ESTIMATORS = {"odds": softmax_odds, "proxy": softmax_proxy, "sigmoid": sigmoid}


def rows_of(table, estimator):
    return table[table["estimator"] == estimator].set_index("measure")


def mean_or_none(flags):
    return float(np.mean(flags)) if len(flags) else None


def measured_directly(scores, estimator, how):
    """measure -> (value, n) of one seed, from the definitions and the functions of the library."""
    raw = ESTIMATORS[estimator](scores)
    clipped = np.minimum(raw, 1)
    machine = scores.logits[:, :-1].argmax(axis=1) == scores.labels
    expert = scores.answers[:, 0] == scores.labels
    deferred = scores.logits[:, -1] >= scores.logits[:, :-1].max(axis=1)
    n, n_deferred = len(scores), int(deferred.sum())
    decomposition = brier_decomposition(clipped, expert)
    over = (calibration_error(clipped, expert, **how) + np.mean(clipped - expert)) / 2
    return {
        "ece": (calibration_error(clipped, expert, **how), n),
        "ece_by_chance": (calibration_error_by_chance(clipped, **how), n),
        "smooth_ece": (smooth_calibration_error(clipped, expert), n),
        "brier": (np.mean((clipped - expert) ** 2), n),
        "miscalibration": (decomposition.miscalibration, n),
        "discrimination": (decomposition.discrimination, n),
        "uncertainty": (np.mean(expert) * np.mean(~expert), n),
        "overconfidence": (over, n),
        "underconfidence": (over - np.mean(clipped - expert), n),
        "cutoff_error": (cutoff_calibration_error(clipped, expert), n),
        "kuiper_p_value": (kuiper_test(clipped, expert).p_value, n),
        "spiegelhalter_p_value": (spiegelhalter_test(clipped, expert).p_value, n),
        "above_one": (np.mean(raw > 1), n),
        "above_one_of_deferred": (mean_or_none(raw[deferred] > 1), n_deferred),
        # The distance between two samples of one size is the mean gap between their sorted values.
        "risk_distance": (np.mean(np.abs(np.sort(clipped) - np.sort(TRUTH))), n),
        "system": (np.mean(np.where(deferred, expert, machine)), n),
        "coverage": (np.mean(~deferred), n),
        "machine_on_kept": (mean_or_none(machine[~deferred]), n - n_deferred),
        "expert_on_deferred": (mean_or_none(expert[deferred]), n_deferred),
        "machine_alone": (np.mean(machine), n),
        "expert_alone": (np.mean(expert), n),
    }


# The summary.


@pytest.mark.parametrize(
    "how", [{"bins": 15, "strategy": "equal_width"}, {"bins": 4, "strategy": "equal_mass"}], ids=str
)
def test_the_summary_is_the_mean_over_seeds_of_what_the_direct_calls_give(how):
    table = summarise(BOTH, true_probability=TRUTH, **how)
    assert table["estimator"].unique().tolist() == ["odds", "proxy", "sigmoid"]
    for estimator, surrogate in (("odds", "softmax"), ("proxy", "softmax"), ("sigmoid", "one_vs_all")):
        rows = rows_of(table, estimator)
        assert set(rows["surrogate"]) == {surrogate}
        direct = [measured_directly(scores, estimator, how) for scores in BOTH[surrogate]]
        assert set(rows.index) == set(direct[0])
        for name in direct[0]:
            values, n = np.array([seed[name] for seed in direct], dtype=float).T
            row = rows.loc[name]
            assert (row["n"], row["seeds"]) == (n.mean(), 3)
            if MEASURES[name].is_p_value:
                assert (row["mean"], row["half_width"]) == (pytest.approx(min(1, 2 * values.mean())), None)
                continue
            assert row["mean"] == pytest.approx(values.mean(), abs=1e-9)
            assert row["half_width"] == pytest.approx(T_3 * values.std(ddof=1) / 3**0.5, abs=1e-9)


def test_the_measures_that_pages_explain_are_those_that_the_summary_holds():
    assert set(summarise(BOTH, true_probability=TRUTH)["measure"]) == set(SUMMARY)
    assert set(SUMMARY) - set(summarise(BOTH)["measure"]) == {"risk_distance"}


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("system_accuracy", "system"),
        ("machine_accuracy", "machine_on_kept"),
        ("calibration_error", "ece"),
        (ece_column("odds"), "ece"),
        ("ece_by_chance", "ece_by_chance"),
        ("coverage", "coverage"),
        ("wall_seconds", None),
    ],
)
def test_a_name_in_a_file_stands_for_one_measure(column, name):
    assert measure_of(column) == MEASURES.get(name)
    assert measure_title(column) == (MEASURES[name].title if name else column)


def test_a_measure_is_of_the_estimator_exactly_where_two_estimators_of_one_system_differ():
    rows = {name: rows_of(summarise({"softmax": SEEDS}, true_probability=TRUTH), name) for name in ("odds", "proxy")}
    for name, described in SUMMARY.items():
        same = rows["odds"].loc[name, "mean"] == rows["proxy"].loc[name, "mean"]
        assert same == (described.of != "estimator"), name


def test_what_a_measure_calls_better_is_what_a_better_system_shows():
    rng = np.random.default_rng(0)
    labels, chance = rng.integers(0, 3, 400), rng.uniform(0.1, 0.9, 400)
    answers = np.where(rng.random(400) < chance, labels, (labels + 1) % 3)[:, None]
    sides = []
    for skill, claimed in ((1.0, chance), (0.0, 1.5 * rng.permutation(chance))):  # the worse one knows nothing
        classes = rng.normal(size=(400, 3)) + skill * 3 * np.eye(3)[labels]
        asking = np.log(claimed) + np.log(np.exp(classes).sum(axis=1))
        scores = Scores.from_arrays(np.column_stack([classes, asking]), labels, answers, surrogate="softmax")
        sides.append(measure(scores, "odds", bins=15, strategy="equal_width", true_probability=chance))
    better, worse = sides
    for name, described in SUMMARY.items():
        if described.better and name != "expert_alone":
            gap = better[name].value - worse[name].value
            assert gap > 0 if described.better == "higher" else gap < 0, name


def test_the_cases_that_a_measure_says_it_counts_are_those_that_its_n_counts():
    rows = rows_of(summarise({"softmax": SEEDS[:1]}, true_probability=TRUTH), "odds")
    deferred = int(defer_by_argmax(SEEDS[0].logits).sum())
    counts = {"test cases": 60, "kept cases": 60 - deferred, "deferred cases": deferred}
    for name, described in SUMMARY.items():
        assert rows.loc[name, "n"] == counts[described.cases]


def test_the_estimators_come_in_the_order_of_the_registry():
    pairs = estimators_of(list(SURROGATES))
    assert pairs == [
        ("softmax", "odds"),
        ("softmax", "proxy"),
        ("one_vs_all", "sigmoid"),
        ("asymmetric_softmax", "probability"),
    ]


def test_one_seed_has_a_mean_and_no_interval():
    rows = rows_of(summarise({"softmax": SEEDS[:1]}), "odds")
    assert rows["half_width"].tolist() == [None] * len(rows)
    assert rows.loc["system", "seeds"] == 1


def with_margin(margin):
    """Three cases whose deferral score is above the best class score by `margin`."""
    logits = [[2.0, 0.0, 2.0 + margin], [0.0, 2.0, 2.0 + margin], [0.0, 2.0, 2.0 + margin]]
    return scores_from_lists(logits, [0, 1, 0], [0, 0, 1])


NONE_DEFERRED = ["above_one_of_deferred", "expert_on_deferred"]
NONE_KEPT = ["machine_on_kept"]


@pytest.mark.parametrize(("margin", "without"), [(-1.0, NONE_DEFERRED), (1.0, NONE_KEPT)])
def test_a_share_of_no_cases_has_an_n_of_0_and_no_seeds(margin, without):
    rows = rows_of(summarise({"softmax": [with_margin(margin)] * 2}), "odds")
    assert rows.index[rows["mean"].isna()].tolist() == without
    p_values = [name for name, described in SUMMARY.items() if described.is_p_value]
    assert rows.drop(index=p_values).query("half_width.isna()").index.tolist() == without
    assert (rows.loc[without, ["n", "seeds"]] == 0).all(axis=None)
    assert (rows.drop(index=without)["seeds"] == 2).all()
    assert rows.loc["coverage", "mean"] == (margin < 0)


def test_a_seed_that_defers_nothing_is_left_out_of_the_means_over_deferred_cases():
    rows = rows_of(summarise({"softmax": [with_margin(-1.0), with_margin(1.0)]}), "odds")
    assert rows.loc["expert_on_deferred", "mean"] == pytest.approx(1 / 3)
    assert rows.loc["machine_on_kept", "mean"] == pytest.approx(2 / 3)
    for name in (*NONE_DEFERRED, *NONE_KEPT):
        assert (rows.loc[name, "n"], rows.loc[name, "seeds"]) == (1.5, 1)
    assert (rows.loc["coverage", "mean"], rows.loc["coverage", "seeds"]) == (0.5, 2)


@pytest.mark.parametrize("margins", [(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
def test_what_cannot_be_averaged_is_none_and_not_nan(margins):
    table = summarise({"softmax": [with_margin(margin) for margin in margins]})
    for name in ("mean", "half_width"):
        assert all(value is None or value == value for value in table[name])


def test_an_unknown_bin_kind_or_estimator_is_named():
    with pytest.raises(ValueError, match="strategy must be one of 'equal_width', 'equal_mass'; got 'even'"):
        summarise(BOTH, strategy="even")
    with pytest.raises(ValueError, match="estimator must be one of 'odds', 'proxy'; got 'sigmoid'"):
        measure(SEEDS[0], "sigmoid", bins=15, strategy="equal_width")


# Reliability.


@pytest.mark.parametrize("strategy", ["equal_width", "equal_mass"])
def test_reliability_pools_the_seeds_and_counts_the_cases_of_one(strategy):
    table = reliability(pooled_view(SEEDS, "odds"), bins=7, strategy=strategy)
    clipped = np.concatenate([np.minimum(softmax_odds(scores), 1) for scores in SEEDS])
    correct = np.concatenate([scores.answers[:, 0] == scores.labels for scores in SEEDS])
    pooled = reliability_table(clipped, correct, bins=7, strategy=strategy, repeats=3)
    pd.testing.assert_frame_equal(table[pooled.columns], pooled)
    assert table["n"].sum() == 180
    np.testing.assert_allclose(table["cases"], pooled["n"] / 3)
    assert table["cases_right"].sum() == pytest.approx(correct.sum() / 3)
    assert (table["cases_right"] <= table["cases"] + 1e-12).all()


def test_the_same_seed_twice_is_no_new_evidence():
    once, twice = (
        reliability(pooled_view(SEEDS[:1], "proxy"), bins=5),
        reliability(pooled_view(SEEDS[:1] * 2, "proxy"), bins=5),
    )
    assert (twice["n"] == 2 * once["n"]).all()
    pd.testing.assert_frame_equal(once.drop(columns="n"), twice.drop(columns="n"))


def test_empty_bins_count_no_cases_and_no_case_right():
    table = reliability(pooled_view([with_margin(-1.0)], "odds"), bins=10)
    assert (table.loc[table["n"] == 0, ["cases", "cases_right"]] == 0).all(axis=None)
    assert table["cases"].sum() == 3


def test_estimates_above_one_are_counted_a_seed_and_are_all_in_the_last_bin_too():
    over = [softmax_odds(scores) > 1 for scores in SEEDS]
    right = [scores.answers[:, 0] == scores.labels for scores in SEEDS]
    row = above_one(pooled_view(SEEDS, "odds")).iloc[0]
    assert row["cases"] == pytest.approx(np.sum(over) / 3)
    assert row["cases_right"] == pytest.approx(np.sum(np.logical_and(over, right)) / 3)
    assert row["share_correct"] == pytest.approx(row["cases_right"] / row["cases"])
    assert reliability(pooled_view(SEEDS, "odds"), bins=10)["cases"].iloc[-1] >= row["cases"] > 0


def test_an_estimate_of_exactly_one_is_not_above_it_and_no_estimate_above_one_gives_no_row():
    even = [scores_from_lists([[0.0, -1000.0, 0.0]], [0], [0])]
    assert pooled_view(even, "odds").probability.tolist() == [1]
    for seeds, estimator in ((even, "odds"), (SEEDS, "proxy")):
        empty = above_one(pooled_view(seeds, estimator))
        assert len(empty) == 0
        assert empty.columns.tolist() == ["share_correct", "cases", "cases_right"]


def test_a_pooled_view_holds_the_seeds_one_after_another():
    view = pooled_view(SEEDS, "odds")
    odds = np.concatenate([softmax_odds(scores) for scores in SEEDS])
    np.testing.assert_allclose(view.probability, odds, rtol=1e-12)
    assert view.expert_correct[60:120].tolist() == (SEEDS[1].answers[:, 0] == SEEDS[1].labels).tolist()


# Risk.


def test_a_risk_histogram_by_hand():
    table = risk_histogram(np.array([-3.0, -1e-9, 0.0, 0.04, 0.25, 0.5, 0.96, 1.0]))
    assert table["low"].tolist() == pytest.approx([0.05 * k for k in range(20)])
    assert table["high"].tolist() == pytest.approx([0.05 * k for k in range(1, 21)])
    filled = {round(20 * row["low"]): row["share"] for _, row in table.iterrows() if row["share"]}
    assert filled == {0: 2 / 8, 5: 1 / 8, 10: 1 / 8, 19: 2 / 8}


@given(risk=st.lists(st.floats(-1e6, 1.0), min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_shares_of_risk_sum_to_one_with_the_negative_part(risk):
    risk = np.array(risk)
    assert risk_histogram(risk)["share"].sum() + np.mean(risk < 0) == pytest.approx(1)


# Coverage.


def coverage_of(name, seeds=SEEDS):
    return coverage_curves(seeds).set_index("coverage")[name]


def test_at_coverage_0_the_expert_decides_alone_and_at_1_the_machine():
    expert = np.mean([np.mean(scores.answers[:, 0] == scores.labels) for scores in SEEDS])
    machine = np.mean([np.mean(scores.logits[:, :-1].argmax(axis=1) == scores.labels) for scores in SEEDS])
    for name in ("system_accuracy", "optimal", "random"):
        assert coverage_of(name)[0.0] == pytest.approx(expert)
        assert coverage_of(name)[1.0] == pytest.approx(machine)
    assert np.isnan(coverage_of("machine_accuracy")[0.0])
    assert coverage_of("machine_accuracy")[1.0] == pytest.approx(machine)


def test_coverage_curves_have_101_rows_and_are_the_mean_of_the_seeds():
    curves = coverage_curves(SEEDS)
    assert curves.columns.tolist() == ["coverage", "system_accuracy", "machine_accuracy", "optimal", "random"]
    np.testing.assert_allclose(curves["coverage"], np.arange(101) / 100)
    np.testing.assert_allclose(curves, np.mean([coverage_curves([scores]) for scores in SEEDS], axis=0))


def test_each_curve_passes_through_what_its_system_does_by_itself():
    for scores in SEEDS:
        deferred = defer_by_argmax(scores.logits)
        kept = np.flatnonzero(~deferred)
        curve = coverage_curves([scores])
        machine = scores.logits[:, :-1].argmax(axis=1) == scores.labels
        system = np.where(deferred, scores.answers[:, 0] == scores.labels, machine).mean()
        assert np.interp(len(kept) / 60, curve["coverage"], curve["system_accuracy"]) == pytest.approx(system, abs=0.01)


def test_scores_of_another_size_are_compared_all_the_same():
    sizes = [random_scores(n=n, seed=n) for n in (1, 7, 30)]
    assert np.isfinite(coverage_curves(sizes)["system_accuracy"]).all()
    rows = rows_of(summarise({"softmax": sizes}), "odds")
    assert rows.loc["system", "n"] == pytest.approx(38 / 3)
