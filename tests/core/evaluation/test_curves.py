"""Coverage and budget curves and their references: by hand, by slow twins, and at the edges."""

import itertools

import numpy as np
import pandas as pd
import pytest
from small_scores import decision_row, hand_scores, random_scores, scores_from_lists

from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.curves import budget_curve, coverage_curve, curves_at, read_at
from l2d_core.evaluation.deferral import defer_by_argmax, defer_by_budget, defer_margin
from l2d_core.evaluation.margins import margin_of_scores

CURVES = ["system_accuracy", "machine_accuracy", "expert_accuracy"]
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def _system_accuracies(scores: Scores, k: int) -> list[float]:
    """The system accuracy of every choice of k cases to keep."""
    rows = np.arange(len(scores))
    return [decision_row(scores, ~np.isin(rows, kept))[2] for kept in itertools.combinations(rows, k)]


def test_a_coverage_curve_computed_by_hand_keeps_ties_together():
    scores = hand_scores()
    curve = coverage_curve(scores, defer_margin(scores.logits))
    expected = {
        "coverage": [0.0, 0.25, 0.5, 1.0],
        "threshold": [-2.0, -1.0, 1.0, np.nextafter(1.0, 2.0)],
        "n_kept": [0, 1, 2, 4],
        "system_accuracy": [0.5, 0.5, 0.75, 0.5],
        "machine_accuracy": [np.nan, 1.0, 1.0, 0.5],
        "expert_accuracy": [0.5, 1 / 3, 0.5, np.nan],
    }
    pd.testing.assert_frame_equal(curve, pd.DataFrame(expected))


@pytest.mark.parametrize("num_experts", [1, 2])
def test_the_coverage_curve_agrees_with_deciding_anew_at_every_threshold(num_experts):
    scores = random_scores(num_experts=num_experts)
    margin = defer_margin(scores.logits, num_experts)
    curve = coverage_curve(scores, margin)
    thresholds = [*sorted(set(margin.tolist())), np.nextafter(margin.max(), np.inf)]
    assert 5 < len(thresholds) < 40
    assert curve["threshold"].tolist() == thresholds
    expected = [decision_row(scores, margin >= threshold) for threshold in thresholds]
    assert curve[["coverage", "n_kept", *CURVES]].to_numpy() == pytest.approx(np.array(expected), nan_ok=True)


def test_threshold_zero_on_the_coverage_curve_is_the_systems_own_decision():
    scores = random_scores()
    curve = coverage_curve(scores, defer_margin(scores.logits))
    own = accuracies(scores, defer_by_argmax(scores.logits))
    row = curve[curve["threshold"] >= 0].iloc[0]
    assert (row["coverage"], row["system_accuracy"]) == (own["coverage"].value, own["system"].value)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("num_experts", [1, 2])
def test_the_budget_curve_agrees_with_deciding_anew_at_every_budget(forced, num_experts):
    scores = random_scores(num_experts=num_experts)
    margin = defer_margin(scores.logits, num_experts) + 1e-9 * np.random.default_rng(0).random(len(scores))  # no ties
    budgets = np.array([0.29, 0.0, 1.0, 0.5, 0.123])
    curve = budget_curve(scores, margin, budgets, forced=forced)
    assert curve["budget"].tolist() == budgets.tolist()
    expected = [decision_row(scores, defer_by_budget(margin, budget, forced=forced)) for budget in budgets]
    assert curve[["coverage", "n_kept", *CURVES]].to_numpy() == pytest.approx(np.array(expected), nan_ok=True)


def test_a_budget_curve_without_budgets_is_an_empty_table():
    assert len(budget_curve(hand_scores(), [0.0] * 4, [], forced=True)) == 0


def read(scores, coverages):
    """`curves_at` in the system's own order."""
    return curves_at(scores, defer_margin(scores.logits), coverages)


@pytest.mark.parametrize("seed", range(4))
def test_optimal_and_random_are_the_best_and_the_mean_of_all_ways_to_keep_so_many_cases(seed):
    scores = random_scores(8, seed)
    ways = [_system_accuracies(scores, k) for k in range(9)]
    found = read(scores, np.arange(9) / 8)
    assert found["optimal"].tolist() == pytest.approx([max(way) for way in ways])
    assert found["random"].tolist() == pytest.approx([np.mean(way) for way in ways])


def test_every_curve_starts_at_the_expert_ends_at_the_machine_and_stays_under_the_optimal_one():
    scores = random_scores()
    alone = accuracies(scores, np.zeros(len(scores), bool))
    found = read(scores, np.linspace(0, 1, 41))
    for name in ("system_accuracy", "optimal", "random"):
        assert found[name][[0, -1]].tolist() == [alone["expert_alone"].value, alone["machine_alone"].value]
        assert (found[name] <= found["optimal"] + 1e-12).all()
    np.testing.assert_allclose(np.diff(found["random"], n=2), 0, atol=1e-12)


def test_a_curve_read_at_its_own_coverages_is_itself():
    scores = random_scores()
    curve = coverage_curve(scores, defer_margin(scores.logits))
    found = read(scores, curve["coverage"])
    for name in ("system_accuracy", "machine_accuracy"):
        np.testing.assert_allclose(found[name], curve[name])


def test_between_two_rows_a_curve_is_what_splitting_the_tie_at_random_gives():
    scores = hand_scores()
    curve = coverage_curve(scores, defer_margin(scores.logits))
    found = read_at({name: curve[name].to_numpy() for name in curve}, np.array([0.75]))
    # Rows 0 and 1 are kept, and one of 2 and 3; there the machine is wrong, and the expert right on row 2.
    ways = [decision_row(scores, np.arange(4) == row) for row in (2, 3)]
    expected = [np.mean([way[2] for way in ways]), 2 / 3, 0.5]
    assert [found[name][0] for name in CURVES] == pytest.approx(expected)


def test_curves_are_read_within_zero_and_one():
    with pytest.raises(ValueError, match=r"coverages must lie in 0..1, got 1.5 at row 1"):
        read(hand_scores(), [0.5, 1.5])


def test_one_case_and_equal_margins_everywhere_give_two_rows():
    for n in (1, 30):
        scores = random_scores(n)
        curve = coverage_curve(scores, np.zeros(n))
        assert curve["coverage"].tolist() == [0, 1]
        assert curve["system_accuracy"].tolist() == read(scores, [0, 1])["random"].tolist()


def test_labels_of_one_class_only_are_nothing_special():
    scores = scores_from_lists([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 0, 0], [0, 0, 0])
    assert coverage_curve(scores, defer_margin(scores.logits))["system_accuracy"].tolist() == pytest.approx(
        [1, 1 / 3 * 2 + 0, 2 / 3]
    )
    assert read(scores, [0, 1 / 3, 1])["optimal"].tolist() == pytest.approx([1, 1, 2 / 3])


@pytest.mark.parametrize("margin", [[0.0] * 3, [0.0, 1.0, np.nan, 2.0], [[0.0] * 4]])
def test_margins_are_one_number_a_case(margin):
    for curve in (coverage_curve, lambda s, m: budget_curve(s, m, [0.5], forced=True)):
        with pytest.raises(ValueError, match="margin must"):
            curve(hand_scores(), margin)


def test_cases_are_ordered_by_probabilities_as_the_paper_orders_them():
    scores = random_scores(seed=4)
    weight = np.exp(scores.logits)
    p = weight / weight.sum(axis=1, keepdims=True)
    assert margin_of_scores(scores) == pytest.approx(p[:, -1] - p[:, :-1].max(axis=1))
    one_vs_all = random_scores(seed=4, surrogate="one_vs_all")
    p = 1 / (1 + np.exp(-one_vs_all.logits))
    assert margin_of_scores(one_vs_all) == pytest.approx(p[:, -1] - p[:, :-1].max(axis=1))
