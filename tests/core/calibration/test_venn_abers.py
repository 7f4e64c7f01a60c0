"""Venn-Abers: against isotonic regression fitted anew with each case, and its calibration on samples of known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from l2d_core.calibration.venn_abers import VennAbers

held_out = st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=1, max_size=25)


def one_by_one(estimate, right, new):
    """p0 and p1 by two fits with the new case."""
    fits = [IsotonicRegression().fit([*estimate, new], [*right, outcome]) for outcome in (0, 1)]
    return [float(fit.predict([new])[0]) for fit in fits]


@settings(max_examples=30, deadline=None)
@given(held_out)
def test_both_values_are_those_of_isotonic_regression_with_the_new_case(cases):
    estimate, right = np.array(cases, dtype=float).T
    new = np.arange(-0.5, 9, 1.5)  # on and between the values
    twin = np.array([one_by_one(estimate, right, one) for one in new])
    np.testing.assert_allclose(np.transpose(VennAbers.fit(estimate, right).bounds(new)), twin, atol=1e-9)


def test_estimates_never_fall_and_are_never_0_or_1():
    rng = np.random.default_rng(0)
    estimate = rng.random(300)
    fitted = VennAbers.fit(estimate, rng.random(300) < estimate)
    found = fitted.apply(np.linspace(-1, 2, 200))
    assert (np.diff(found) >= -1e-12).all()
    assert 0 < found.min() <= found.max() < 1


@pytest.mark.parametrize("right", [0, 1])
def test_outcomes_of_one_kind_leave_room_for_the_other(right):
    found = VennAbers.fit([0.2, 0.5, 0.5], [right] * 3).apply([0.1, 0.5, 0.9])
    assert ((found > 0) & (found < 1)).all()


def test_one_of_both_values_is_calibrated_on_average():
    rng, totals = np.random.default_rng(1), []
    for _ in range(200):
        z = rng.normal(size=101)
        right = rng.random(101) < 1 / (1 + np.exp(-z))
        p0, p1 = VennAbers.fit(z[:100], right[:100]).bounds(z[100:])
        totals.append(right[100] - (p1 if right[100] else p0)[0])  # the value for what came true is calibrated
    assert abs(np.mean(totals)) < 3 * np.std(totals) / 200**0.5
