"""Who decides: the deferral rules, with their ties and their edges."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from l2d_core.evaluation.deferral import (
    best_expert,
    defer_by_argmax,
    defer_by_budget,
    defer_margin,
    deferral_order,
    num_within_budget,
    share_deferred,
)

LOGITS = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 2.0, 2.0], [-5.0, -1.0, -2.0]])
small_margins = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=12)


def test_a_score_of_at_least_the_best_class_defers_and_a_tie_does_too():
    assert defer_by_argmax(LOGITS).tolist() == [True, False, True, False]


def test_the_margin_is_expert_minus_machine_and_at_least_zero_exactly_where_argmax_defers():
    assert defer_margin(LOGITS).tolist() == [1.0, -1.0, 0.0, -1.0]
    assert (defer_by_argmax(LOGITS) == (defer_margin(LOGITS) >= 0)).all()


def test_with_two_experts_the_better_one_is_compared_with_the_best_class_and_gets_the_case():
    logits = [[0.0, 1.0, 0.5, 2.0], [0.0, 3.0, 2.0, 1.0], [0.0, 1.0, 4.0, 4.0]]
    assert defer_margin(logits, 2).tolist() == [1.0, -1.0, 3.0]
    assert best_expert(logits, 2).tolist() == [1, 0, 0]
    assert defer_by_argmax(logits, 2).tolist() == [True, False, True]


def test_softmax_probabilities_and_sigmoids_give_the_decisions_of_their_logits():
    logits = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    decisions = defer_by_argmax(logits)
    assert (defer_by_argmax(torch.softmax(logits, 1)) == decisions).all()
    assert (defer_by_argmax(torch.sigmoid(logits)) == decisions).all()
    assert 0 < decisions.sum() < 200


def test_a_margin_too_small_for_the_scale_of_the_scores_still_counts():
    above = np.nextafter(1e6, np.inf)
    assert defer_margin([[0.0, 1e6, above], [0.0, above, 1e6]])[0] > 0
    assert defer_by_argmax([[0.0, 1e6, above], [0.0, above, 1e6]]).tolist() == [True, False]


def test_no_cases_give_no_decisions():
    assert defer_by_argmax(np.empty((0, 3))).shape == (0,)
    assert defer_by_budget(np.empty(0), 0.5, forced=True).shape == (0,)


@pytest.mark.parametrize(
    ("logits", "num_experts", "message"),
    [
        ([1.0, 2.0], 1, r"logits must have shape \(any, any\), got \(2,\)"),
        ([[1.0, math.nan]], 1, r"logits must be finite, got nan at row 0"),
        ([[1.0, 2.0], [1.0, math.inf]], 1, r"logits must be finite, got inf at row 1"),
        ([[1.0, 2.0]], 2, r"num_experts must lie in 1..1 for 2 columns of logits, got 2"),
        ([[1.0, 2.0]], 0, r"num_experts must lie in 1..1 for 2 columns of logits, got 0"),
        ([["one", "two"]], 1, r"logits must be numbers"),
    ],
)
def test_bad_logits_are_refused_by_name(logits, num_experts, message):
    with pytest.raises(ValueError, match=message):
        defer_by_argmax(logits, num_experts)


def test_a_capped_budget_defers_only_positive_margins_largest_first():
    margin = [0.3, -0.1, 0.0, 0.2, 0.9]
    assert defer_by_budget(margin, 1.0, forced=False).tolist() == [True, False, False, True, True]
    assert defer_by_budget(margin, 0.4, forced=False).tolist() == [True, False, False, False, True]
    assert not defer_by_budget(margin, 0.19, forced=False).any()


def test_a_forced_budget_defers_exactly_that_many_whatever_the_margins():
    margin = [-0.3, -0.1, -0.2, -0.4]
    assert defer_by_budget(margin, 0.5, forced=True).tolist() == [False, True, True, False]
    assert defer_by_budget(margin, 1.0, forced=True).all()
    assert not defer_by_budget(margin, 0.0, forced=True).any()


def test_equal_margins_are_deferred_from_the_lowest_row_up():
    assert defer_by_budget([0.5, 0.7, 0.5, 0.5], 0.75, forced=False).tolist() == [True, True, True, False]
    assert deferral_order([0.5, 0.7, 0.5, -0.0, 0.0]).tolist() == [1, 0, 2, 3, 4]


@pytest.mark.parametrize("num_cases", [7, 100, 2003, 4096])
def test_every_percentage_allows_the_exact_floor_of_its_share(num_cases):
    exact = [math.floor(Fraction(percent, 100) * num_cases) for percent in range(101)]
    assert [num_within_budget(percent / 100, num_cases) for percent in range(101)] == exact


def test_a_share_of_k_cases_in_n_allows_k_cases():
    assert [num_within_budget(k / 49, 49) for k in range(50)] == list(range(50))
    assert math.floor(0.29 * 100) == 28
    assert num_within_budget(0.29, 100) == 29


@pytest.mark.parametrize("budget", [-0.01, 1.01, 30, math.nan])
def test_a_budget_is_a_share_not_a_percentage(budget):
    with pytest.raises(ValueError, match=r"budget must lie in 0..1, a share of the cases, got "):
        defer_by_budget([0.1, 0.2], budget, forced=True)


def test_a_margin_that_is_not_a_number_is_refused_with_its_row():
    with pytest.raises(ValueError, match="margin must be finite, got nan at row 1"):
        defer_by_budget([0.1, math.nan], 0.5, forced=True)


@settings(max_examples=40, deadline=None)
@given(small_margins, st.integers(0, 20), st.booleans())
def test_the_budget_rule_agrees_with_one_case_at_a_time(margin, twentieths, forced):
    allowed = twentieths * len(margin) // 20
    left = [m if forced or m > 0 else -math.inf for m in margin]
    expected = [False] * len(margin)
    for _ in range(allowed):
        best = max(range(len(left)), key=lambda row: (left[row], -row))
        if left[best] == -math.inf:
            break
        expected[best], left[best] = True, -math.inf
    assert defer_by_budget(np.array(margin), twentieths / 20, forced=forced).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-1, 1), min_size=1, max_size=5), st.integers(0, 5))
def test_shares_deferred_are_means_over_all_orders_of_the_rows(margin, num_cases):
    margin, num_cases = np.array(margin, dtype=float), min(num_cases, len(margin))
    total = np.zeros(len(margin))
    orders = list(itertools.permutations(range(len(margin))))
    for order in orders:
        rows = np.array(order)
        total[rows[deferral_order(margin[rows])[:num_cases]]] += 1
    assert share_deferred(margin, num_cases) == pytest.approx(total / len(orders))
