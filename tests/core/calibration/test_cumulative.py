"""Tests of calibration without bins: slow twins, what they assume, false alarms and power on samples of known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from l2d_core.calibration.cumulative import (
    _range_exceeds,
    combined_p_value,
    cutoff_calibration_error,
    kuiper_test,
    spiegelhalter_test,
)

TESTS = [kuiper_test, spiegelhalter_test]
pairs = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.55, 1.0]), st.booleans()), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_the_cutoff_error_is_the_largest_over_all_intervals_tried_one_by_one(cases):
    p, right = np.array(cases, dtype=float).T
    tried = [
        abs(((right - p) * ((p >= low) & (p <= high))).mean()) for low in [*p, 0.0] for high in [*p, 1.0] if low <= high
    ]
    assert cutoff_calibration_error(p, right) == pytest.approx(max(tried), abs=1e-12)


def test_the_cutoff_error_of_a_constant_is_its_gap_and_does_not_depend_on_the_order_of_cases():
    right = np.arange(20) % 4 == 0
    assert cutoff_calibration_error(np.full(20, 0.7), right) == pytest.approx(0.45)
    p = np.repeat([0.3, 0.6], 10)
    shuffled = np.random.default_rng(0).permutation(20)
    assert cutoff_calibration_error(p[shuffled], right[shuffled]) == pytest.approx(cutoff_calibration_error(p, right))


def test_spiegelhalters_z_is_the_standardised_brier_score():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 50)
    right = rng.random(50) < p
    # The mean and the variance of the Brier score's sum, case by case over both outcomes.
    squared = np.array([(1 - p) ** 2, p**2])
    mean = p * squared[0] + (1 - p) * squared[1]
    variance = p * squared[0] ** 2 + (1 - p) * squared[1] ** 2 - mean**2
    z = (((right - p) ** 2).sum() - mean.sum()) / variance.sum() ** 0.5
    found = spiegelhalter_test(p, right)
    assert found.statistic == pytest.approx(z)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert found.n == 50


def test_the_range_of_brownian_motion_has_fellers_mean_and_variance():
    x = np.linspace(0, 12, 24_001)
    exceeds = np.array([_range_exceeds(one) for one in x])
    assert np.trapezoid(exceeds, x) == pytest.approx(np.sqrt(8 / np.pi), abs=1e-6)
    assert np.trapezoid(2 * x * exceeds, x) == pytest.approx(4 * np.log(2), abs=1e-6)


def test_both_series_of_the_range_meet():
    assert _range_exceeds(2 - 1e-9) == pytest.approx(_range_exceeds(2 + 1e-9), abs=1e-8)
    assert _range_exceeds(0.0) == 1
    assert _range_exceeds(1e-3) == pytest.approx(1)
    assert 0 < _range_exceeds(20.0) < 1e-80


@pytest.mark.parametrize("test", TESTS)
def test_an_impossible_outcome_has_p_value_0_and_a_certain_one_tells_nothing(test):
    assert test([1.0, 0.5, 0.5], [0, 0, 1]).p_value == 0
    assert test([0.0, 0.4], [1, 0]).p_value == 0
    assert test([1.0, 0.0], [1, 0]).p_value == 1


def test_p_values_of_seeds_are_combined_by_twice_their_mean():
    assert combined_p_value([0.01, None, 0.03]) == pytest.approx(0.04)
    assert combined_p_value([0.9, 0.8]) == 1
    assert combined_p_value([0.3]) == 0.3
    assert combined_p_value([None]) is None


def alarms(test, truth_of, samples, n, seed):
    """The share of samples with a p-value of at most 0.05. truth_of: the true probability, by the estimate (n,)."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(samples):
        estimate = np.round(rng.uniform(0.1, 0.9, n), 3)  # with ties
        count += test(estimate, rng.random(n) < truth_of(estimate)).p_value <= 0.05
    return count / samples


@pytest.mark.parametrize("test", TESTS)
def test_a_calibrated_estimator_is_seldom_rejected_and_an_overconfident_one_often(test):
    assert alarms(test, lambda p: p, 400, 500, seed=0) <= 0.08  # 5 % and under three standard errors
    assert alarms(test, lambda p: 0.5 + 0.6 * (p - 0.5), 100, 1000, seed=1) > 0.9


def test_errors_that_cancel_are_seen_by_kuiper_alone():
    assert alarms(kuiper_test, lambda p: p - 0.1, 100, 500, seed=2) > 0.9
    assert alarms(spiegelhalter_test, lambda p: p - 0.1, 100, 500, seed=2) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 2000])
@pytest.mark.parametrize("test", TESTS)
def test_false_alarms_are_at_most_5_percent_in_small_and_large_samples(test, n):
    assert 0.01 <= alarms(test, lambda p: p, 2000, n, seed=3) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
def test_seeds_that_score_the_same_cases_raise_no_more_false_alarms(test):
    rng, count = np.random.default_rng(4), 0
    for _ in range(500):
        truth = rng.beta(2, 1, 300)
        chance = rng.random(300)  # the same in all seeds, but for a part of the cases
        seeds = [np.where(rng.random(300) < 0.2, rng.random(300), chance) < truth for _ in range(4)]
        count += combined_p_value([test(truth, right).p_value for right in seeds]) <= 0.05
    assert count / 500 <= 0.065
