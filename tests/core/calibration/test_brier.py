"""The Brier score and its decomposition, by hand and against scikit-learn and model-diagnostics."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_diagnostics.scoring import SquaredError, decompose
from sklearn.metrics import brier_score_loss

from l2d_core.calibration.brier import brier_decomposition

pairs = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.55, 1.0]), st.booleans()), min_size=1, max_size=30)


def _draw(atoms: bool) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    probability = generator.beta(2, 1, 300)
    if atoms:
        probability = np.round(probability, 1)
    return probability, (generator.random(300) < 0.2 + 0.6 * probability).astype(float)


@pytest.mark.parametrize("atoms", [False, True])
def test_the_decomposition_agrees_with_model_diagnostics_and_the_score_with_scikit_learn(atoms):
    probability, correct = _draw(atoms)
    expected = decompose(correct, probability, scoring_function=SquaredError()).to_dicts()[0]
    ours = brier_decomposition(probability, correct)
    assert ours.brier == pytest.approx(expected["score"])
    assert ours.brier == pytest.approx(brier_score_loss(correct, probability))
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(ours, part) == pytest.approx(expected[part])


def test_a_decomposition_computed_by_hand():
    # Sorted by estimate the outcomes are 0, 1, 0, 1: pooling the two in the middle gives 0, 1/2, 1/2, 1.
    parts = brier_decomposition([0.4, 0.2, 0.6, 0.8], [1, 0, 0, 1])
    assert parts.brier == pytest.approx((0.36 + 0.04 + 0.36 + 0.04) / 4)
    assert parts.refinement == pytest.approx(0.125)
    assert parts.miscalibration == pytest.approx(0.2 - 0.125)
    assert parts.discrimination == pytest.approx(0.25 - 0.125)
    assert parts.uncertainty == 0.25


def test_equal_estimates_are_recalibrated_to_one_value():
    assert astuple(brier_decomposition([0.9, 0.9], [1, 0])) == pytest.approx((0.41, 0.16, 0.25, 0.0, 0.25))


@pytest.mark.parametrize("outcome", [0, 1])
def test_outcomes_of_one_kind_leave_only_miscalibration(outcome):
    miss = 0.09 if outcome else 0.49
    assert astuple(brier_decomposition([0.7, 0.7], [outcome] * 2)) == pytest.approx((miss, miss, 0, 0, 0))


def test_an_increasing_change_of_the_estimate_leaves_refinement_alone():
    probability, correct = _draw(False)
    before, after = brier_decomposition(probability, correct), brier_decomposition(probability**3, correct)
    assert after.refinement == pytest.approx(before.refinement)
    assert after.miscalibration > before.miscalibration


@settings(max_examples=40, deadline=None)
@given(pairs)
def test_the_parts_add_up_and_none_is_negative(cases):
    probability, correct = zip(*cases, strict=True)
    parts = brier_decomposition(probability, correct)
    assert parts.brier == pytest.approx(parts.miscalibration + parts.refinement)
    assert parts.brier == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty)
    assert min(astuple(parts)) >= -1e-12
    assert max(astuple(parts)) <= 1


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"probability must lie in 0..1, got 1.5 at row 0"):
        brier_decomposition([1.5], [1])
    with pytest.raises(ValueError, match="correct must be 0 or 1"):
        brier_decomposition([0.5], [3])
