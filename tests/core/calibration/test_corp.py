"""The reliability diagram without bins: against model-diagnostics, a band resampled one by one, and its coverage."""

import numpy as np
import pytest
from model_diagnostics.calibration import plot_reliability_diagram
from sklearn.isotonic import IsotonicRegression

from l2d_core.calibration import corp
from l2d_core.calibration.corp import corp_diagram


def made(seed=0, n=400):
    rng = np.random.default_rng(seed)
    probability = rng.beta(2, 1, n)
    return probability, rng.random(n) < 0.1 + 0.8 * probability


def diagram(probability, correct, **options):
    return corp_diagram(probability, correct, generator=np.random.default_rng(0), **options)


@pytest.mark.parametrize("digits", [2, 8])
def test_the_curve_is_that_of_model_diagnostics(digits):
    probability, correct = made()
    probability = np.round(probability, digits)
    curve = plot_reliability_diagram(correct.astype(float), probability).lines[-1]
    found = diagram(probability, correct, resamples=2)
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    np.testing.assert_allclose(np.interp(found["estimate"], x, y), found["share_correct"], atol=1e-12)
    assert set(np.round(x, 10)) <= set(np.round(found["estimate"], 10))


def test_the_steps_count_their_cases():
    found = diagram([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1], resamples=2)
    at_cases = found[found["estimate"].isin([0.1, 0.2, 0.3, 0.9])]
    assert at_cases["share_correct"].tolist() == [0, 0.5, 0.5, 1]
    assert at_cases["cases"].tolist() == [1, 2, 2, 1]


def test_the_band_is_that_of_outcomes_drawn_and_fitted_one_by_one():
    probability, correct = made(1, n=80)
    found = diagram(probability, correct, resamples=600)
    rng, curves = np.random.default_rng(5), []
    for _ in range(600):
        drawn = rng.random(80) < probability
        fitted = IsotonicRegression().fit(probability, drawn)
        curves.append(fitted.predict(found["estimate"]))
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    assert np.abs(found["band_low"] - low).mean() < 0.02
    assert np.abs(found["band_high"] - high).mean() < 0.02


def test_the_same_cases_again_are_no_new_evidence():
    probability, correct = made()
    once, twice = (diagram(np.tile(probability, k), np.tile(correct, k), repeats=k) for k in (1, 2))
    np.testing.assert_allclose(once, twice)
    with pytest.raises(ValueError, match="400 cases must be a multiple of repeats, got 3"):
        diagram(probability, correct, repeats=3)


def test_very_many_estimates_are_resampled_in_cells_with_nearly_the_same_band(monkeypatch):
    probability, correct = made(2, n=2000)
    whole = diagram(probability, correct)
    monkeypatch.setattr(corp, "MOST_CELLS", 500)
    cells = diagram(probability, correct)
    np.testing.assert_allclose(cells["share_correct"], whole["share_correct"])
    for name in ("band_low", "band_high"):
        assert np.abs(cells[name] - whole[name]).mean() < 0.01


def test_one_case_and_one_value_have_a_diagram():
    assert len(diagram([0.3], [1])) == 1
    found = diagram([0.3] * 10, [1] * 4 + [0] * 6)
    assert found[["estimate", "share_correct", "cases"]].to_numpy().tolist() == [[0.3, 0.4, 10]]


def count_held(samples, n, resamples):
    """At 0.3 and 0.8: the share of samples of a calibrated estimator whose curve lies in the band."""
    held = []
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        probability = rng.beta(2, 1, n)
        found = corp_diagram(probability, rng.random(n) < probability, generator=rng, resamples=resamples)
        share, low, high = (np.interp([0.3, 0.8], found["estimate"], found[name]) for name in found.columns[[1, 3, 4]])
        held.append((share >= low - 1e-12) & (share <= high + 1e-12))
    return np.mean(held, axis=0)


def test_the_curve_of_a_calibrated_estimator_lies_in_the_band():
    held = count_held(100, 200, resamples=100)
    assert (held >= 0.88).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1000])
def test_the_curve_lies_in_the_band_in_many_samples(n):
    held = count_held(600, n, resamples=300)
    assert (held >= 0.92).all()
    assert (held <= 0.98).all()


def test_an_overconfident_estimator_leaves_the_band():
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.2, 0.8, 2000)
    found = diagram(np.clip(2 * truth - 0.5, 0, 1), rng.random(2000) < truth)
    outside = (found["share_correct"] < found["band_low"]) | (found["share_correct"] > found["band_high"])
    assert outside.mean() > 0.5
