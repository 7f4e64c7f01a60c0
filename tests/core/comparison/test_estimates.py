"""Systems side by side: the same cases, one rule with a price and a budget, and curves that agree with it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from l2d_core.baselines.budget_errors import budget_point
from l2d_core.calibration.binned import calibration_error
from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.estimates import (
    BUDGETS,
    budget_curve,
    cases,
    confusion,
    decide,
    decide_in_shares,
    key_numbers,
    view_system,
)
from l2d_core.comparison.systems import System, align, scores_of
from l2d_core.data import Scores
from l2d_core.evaluation import curves
from l2d_core.evaluation.accuracy import accuracies, class_table
from l2d_core.evaluation.curves import curves_at
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import coverage_curve, reliability, risk_histogram
from l2d_core.evaluation.probabilities import expert_pairs, expert_probability
from l2d_core.surrogates import SURROGATES

K = 4


def made(surrogate="softmax", n=300, seed=0, num_experts=1):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, n)
    answers = np.where(rng.random((n, num_experts)) < 0.7, labels[:, None], (labels[:, None] + 1) % K)
    logits = rng.normal(0, 1.5, (n, K + num_experts))
    logits[np.arange(n), labels] += 1.5
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate, ids=[f"case {i}" for i in range(n)])


def system(name="a", **options):
    return System(name, made(**options), made(**{**options, "seed": 9}))


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("num_experts", [1, 2])
def test_at_no_price_and_with_the_whole_budget_the_systems_own_rule_decides(surrogate, num_experts):
    one = system(surrogate=surrogate, num_experts=num_experts)
    if num_experts == 1 or surrogate == "one_vs_all":
        expected = defer_by_argmax(scores_of(one).logits, num_experts)
        np.testing.assert_array_equal(decide(view_system(one)), expected)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_ties_and_saturated_scores_are_decided_as_by_the_logits(surrogate):
    logits = np.array([[2.0, 0, 0, 0, 2], [2, 0, 0, 0, np.nextafter(2, 0)], [900, 0, 0, 0, 901], [901, 0, 0, 0, 900]])
    scores = Scores.from_arrays(logits, np.zeros(4, int), np.zeros(4, int), surrogate=surrogate)
    np.testing.assert_array_equal(decide(view_system(System("a", scores))), [True, False, True, False])


def test_a_price_keeps_what_gains_less_and_a_budget_keeps_the_least_gains():
    view = view_system(system(surrogate="one_vs_all"))
    for cost, budget in [(0.0, 1.0), (0.1, 1.0), (0.1, 0.07), (0.0, 0.0), (1.0, 1.0)]:
        twin = [i for i in np.argsort(-view.defer_margin, kind="stable") if view.defer_margin[i] >= cost][
            : int(budget * 300 + 1e-9)
        ]
        expected = np.zeros(300, bool)
        expected[twin] = True
        np.testing.assert_array_equal(decide(view, cost=cost, budget=budget), expected)


def test_key_numbers_are_those_of_evaluation_and_the_value_pays_for_each_case_that_is_asked():
    one = system(surrogate="one_vs_all")
    view = view_system(one)
    deferred = decide(view, cost=0.1)
    numbers = key_numbers(view, deferred, cost=0.1, bins=10)
    expected = accuracies(scores_of(one), deferred)
    assert {name: numbers[name] for name in expected} == expected
    assert numbers["ece"].value == calibration_error(*expert_pairs(scores_of(one)), bins=10)
    assert numbers["value"].value == pytest.approx(expected["system"].value - 0.1 * deferred.mean())
    assert numbers["value"].n == 300


@pytest.mark.parametrize("surrogate", ["softmax", "one_vs_all"])
def test_curves_pass_through_the_operating_points(surrogate):
    one = system(surrogate=surrogate)
    view = view_system(one)
    by_coverage = coverage_curve(view).set_index("coverage")
    by_budget = budget_curve(view, cost=0.05).set_index("budget")
    for budget in (0.0, 0.11, 0.25, 1.0):
        deferred = decide(view, cost=0.05, budget=budget)
        numbers = key_numbers(view, deferred, cost=0.05)
        row = by_budget.loc[BUDGETS[round(100 * budget)]]
        assert row["system_accuracy"] == pytest.approx(numbers["system"].value)
        assert row["coverage"] == pytest.approx(numbers["coverage"].value)
        assert row["value"] == pytest.approx(numbers["value"].value)
    own = curves_at(scores_of(one), view.defer_margin, BUDGETS)
    for name in ("system_accuracy", "optimal", "random", "machine_accuracy"):
        np.testing.assert_allclose(by_coverage[name], own[name])


def test_the_ends_of_the_coverage_curve_are_expert_and_machine_alone():
    view = view_system(system())
    curve = coverage_curve(view)
    assert curve["system_accuracy"].iloc[0] == pytest.approx(view.expert_correct.mean())
    assert curve["system_accuracy"].iloc[-1] == pytest.approx(view.machine_correct.mean())


def test_confusion_classes_and_bins_count_every_case_once():
    one = system()
    view = view_system(one)
    deferred = decide(view)
    table = confusion(view, deferred)
    assert (table["n"].sum(), table["n_deferred"].sum()) == (300, deferred.sum())
    both = table[table["machine_right"] & table["expert_right"]].iloc[0]
    assert both["n"] == (view.machine_correct & view.expert_correct).sum()
    assert both["n_deferred"] == (view.machine_correct & view.expert_correct & deferred).sum()
    assert class_table(scores_of(one), deferred)["n"].sum() == 300
    assert reliability(view, bins=7)["cases"].sum() == 300
    assert risk_histogram(1 - view.probability)["share"].sum() == pytest.approx((view.probability <= 1).mean())


def test_cases_are_told_in_the_order_that_is_asked_for():
    one = system()
    view = view_system(one)
    table = cases(one, view, decide(view), np.array([7, 3]))
    assert table["id"].to_list() == ["case 7", "case 3"]
    assert table["label"].to_list() == [f"class {scores_of(one).labels[row]}" for row in (7, 3)]
    assert table["expert"].to_list() == [f"class {scores_of(one).answers[row, 0]}" for row in (7, 3)]
    assert table["gain"].to_list() == [view.defer_margin[7], view.defer_margin[3]]
    with pytest.raises(ValueError, match="rows"):
        cases(one, view, decide(view), np.array([300]))


def test_the_proxy_is_shown_but_the_odds_decide():
    odds, proxy = view_system(system()), view_system(system(), estimator="proxy")
    np.testing.assert_array_equal(odds.defer_margin, proxy.defer_margin)
    np.testing.assert_allclose(proxy.probability, odds.probability / (1 + odds.probability))


def test_what_is_recalibrated_decides():
    one = system(surrogate="one_vs_all")
    view = view_system(one, recalibration="isotonic")
    np.testing.assert_allclose(view.defer_margin, view.probability - view.confidence)
    assert view.recalibration.method == "isotonic"
    with pytest.raises(ValueError, match="a has no validation scores"):
        view_system(replace(one, validation=None), recalibration="platt")


def test_a_case_goes_to_the_expert_of_the_highest_score():
    one = system(num_experts=3, surrogate="one_vs_all")
    view = view_system(one)
    best = scores_of(one).logits[:, K:].argmax(1)
    np.testing.assert_array_equal(view.expert_class, scores_of(one).answers[np.arange(300), best])
    np.testing.assert_allclose(view.probability, expert_probability(scores_of(one))[np.arange(300), best])


def test_systems_meet_on_the_cases_that_both_have_in_the_order_of_the_first():
    first, other = made(seed=1), made(seed=1)
    rows = np.random.default_rng(0).permutation(300)[:200]
    shuffled = other.subset(rows)
    aligned, notes = align([System("a", first), System("b", shuffled)])
    expected = [name for name in first.ids if name in set(shuffled.ids)]
    assert list(scores_of(aligned[0]).ids) == expected == list(scores_of(aligned[1]).ids)
    np.testing.assert_array_equal(scores_of(aligned[0]).logits, scores_of(aligned[1]).logits)
    assert notes == (
        "a: 100 of its 300 test cases are not compared, since another system lacks them or an expert has not answered.",
    )


def test_cases_without_an_answer_are_left_out_for_all():
    scores = made()
    answers = scores.answers.copy()
    answers[5] = -1
    aligned, notes = align([System("a", scores), System("b", replace(scores, answers=answers))])
    assert [len(scores_of(one)) for one in aligned] == [299, 299]
    assert "case 5" not in scores_of(aligned[0]).ids
    assert len(notes) == 2


def test_other_answers_of_the_experts_are_noted():
    scores = made()
    answers = scores.answers.copy()
    answers[:30] = (answers[:30] + 1) % K
    _, notes = align([System("a", scores), System("b", replace(scores, answers=answers))])
    assert "a and b ask different experts: the answers differ in 10.0 % of the cases" in notes[0]


def test_systems_that_cannot_be_compared_are_refused_by_name():
    scores = made()
    labels = scores.labels.copy()
    labels[3] = (labels[3] + 1) % K
    with pytest.raises(ValueError, match=r"a and b must agree on the labels, but case 3 .* \(1 such cases\)"):
        align([System("a", scores), System("b", replace(scores, labels=labels))])
    with pytest.raises(ValueError, match="a and b must have the same classes in one order, got class 0"):
        align([System("a", scores), System("b", replace(scores, class_names=("w", "x", "y", "z")))])
    with pytest.raises(ValueError, match="have no test case in common"):
        align([System("a", scores), System("b", replace(scores, ids=np.array([f"other {i}" for i in range(300)])))])
    doubled = scores.ids.copy()
    doubled[1] = doubled[0]
    with pytest.raises(ValueError, match="b has the id 'case 0' twice"):
        align([System("a", scores), System("b", replace(scores, ids=doubled))])
    with pytest.raises(ValueError, match="no test case is in all of a"):
        align([System("a", replace(scores, answers=np.full((300, 1), -1)))])


def logged(n=50, surrogate="softmax"):
    rng = np.random.default_rng(0)
    return LoggedOutputs(rng.normal(0, 1, (n, K + 1)), rng.random(n) < 0.7, surrogate, 0)


def test_logged_outputs_show_what_needs_no_labels():
    outputs = logged()
    aligned, notes = align([System("a", outputs), System("b", logged(surrogate="one_vs_all"))])
    view = view_system(aligned[0])
    np.testing.assert_array_equal(decide(view), outputs.deferred)
    numbers = key_numbers(view, decide(view))
    assert numbers["coverage"].value == pytest.approx(1 - outputs.deferred.mean())
    assert numbers["system"].value is None
    assert "without labels" in notes[0]
    table = cases(aligned[0], view, decide(view), np.array([4]))
    assert (table["id"][0], table["label"][0]) == ("4", None)
    for curve in (coverage_curve, budget_curve):
        with pytest.raises(ValueError, match="a comes without labels"):
            curve(view)
    with pytest.raises(ValueError, match="a has no validation scores"):
        view_system(aligned[0], recalibration="platt")


def test_logged_outputs_are_not_compared_with_what_has_ids_nor_in_other_numbers():
    with pytest.raises(ValueError, match="compare them without b"):
        align([System("a", logged()), System("b", made())])
    with pytest.raises(ValueError, match=r"must have as many cases as each other, got \[50, 60\]"):
        align([System("a", logged()), System("b", logged(60))])


def test_prices_and_budgets_outside_are_refused():
    view = view_system(system())
    with pytest.raises(ValueError, match="cost"):
        decide(view, cost=1.5)
    with pytest.raises(ValueError, match="cost"):
        budget_curve(view, cost=-0.1)
    with pytest.raises(ValueError, match="budget"):
        decide(view, budget=2)


def test_tables_have_one_type_a_column():
    one = system()
    view = view_system(one)
    assert pd.api.types.is_bool_dtype(cases(one, view, decide(view), np.arange(3))["deferred"])


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_a_budget_that_cuts_a_tie_gives_the_expected_value_in_any_order_of_the_rows(rows):
    labels, answers = np.array([1, 1, 0, 0])[rows], np.array([1, 1, 1, 1])[rows]
    scores = Scores.from_arrays(np.array([[1.0, 0, 1]] * 4), labels, answers, surrogate="softmax")  # the machine says 0
    for forced in (True, False):
        curve = curves.budget_curve(scores, np.full(4, 0.1), [0.25, 0.5, 1], forced=forced)
        assert curve["system_accuracy"].tolist() == [0.5, 0.5, 0.5]
        assert curve["n_kept"].tolist() == [3, 2, 0]
    assert budget_point("softmax", "forced", 0.5, 0, scores, np.full(4, 0.1)).error == 0.5
    view = view_system(System("tied", scores))
    at_once = key_numbers(view, decide_in_shares(view, budget=0.5))
    assert (at_once["system"].value, at_once["machine_on_kept"].value, at_once["machine_on_kept"].n) == (0.5, 0.5, 2)
