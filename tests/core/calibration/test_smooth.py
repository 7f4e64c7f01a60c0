"""The smooth calibration error against its definition, an independent implementation, and theory."""

import numpy as np
import pytest

from l2d_core.calibration.smooth import smooth_calibration_error


def _smoothed_error(probability: np.ndarray, correct: np.ndarray, deviation: float) -> float:
    """smECE at one kernel width, by definition: the sum of the cases' reflected Gaussians, on a fine grid."""
    t = (np.arange(2000) + 0.5) / 2000
    smoothed = np.zeros_like(t)
    for image in range(-4, 5):
        for centre in (2 * image + probability, 2 * image - probability):
            kernel = np.exp(-((t[:, None] - centre) ** 2) / (2 * deviation**2))
            smoothed += kernel @ (correct - probability) / (deviation * np.sqrt(2 * np.pi))
    return float(np.abs(smoothed).mean()) / len(probability)


def _fixed_point(probability: np.ndarray, correct: np.ndarray) -> float:
    low, high = 1e-3, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        if _smoothed_error(probability, correct, middle) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _cases(name: str, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(5)
    probability = {
        "over-confident": generator.beta(2, 1, n),
        "clipped odds": np.minimum(generator.lognormal(-0.4, 0.6, n), 1),
        "zeros and ones": generator.integers(0, 2, n).astype(float),
        "three values": generator.choice([0.1, 0.4, 0.95], n),
    }[name]
    return probability, (generator.random(n) < 0.1 + 0.7 * probability).astype(float)


@pytest.mark.parametrize("name", ["over-confident", "clipped odds", "zeros and ones", "three values"])
def test_the_fast_error_is_the_fixed_point_of_the_definition(name):
    probability, correct = _cases(name)
    assert smooth_calibration_error(probability, correct) == pytest.approx(_fixed_point(probability, correct), abs=1e-3)


def test_it_agrees_with_torch_uncertainty():
    i = np.arange(400)
    probability = 0.05 + 0.9 * (i + 0.5) / 400
    correct = (i * 0.6180339887498949) % 1 < probability + 0.3 * np.sin(12 * probability)
    # What the reflected kernel of torch-uncertainty 0.13.0 gives at its fixed point. No case lies at 0 or 1, for
    # that library counts only half of such a case.
    assert smooth_calibration_error(probability, correct) == pytest.approx(0.1112, abs=1e-3)


def test_equal_scores_that_are_all_wrong_show_their_whole_gap():
    assert smooth_calibration_error([0.9] * 10, [0] * 10) == pytest.approx(0.9)
    assert smooth_calibration_error([1.0] * 3, [0] * 3) == pytest.approx(1.0)
    assert smooth_calibration_error([0.25], [1]) == pytest.approx(0.75)


def test_certain_and_right_has_no_error():
    assert smooth_calibration_error([0.0, 1.0, 1.0], [0, 1, 1]) == 0


def test_neighbouring_gaps_of_opposite_sign_cancel_and_distant_ones_do_not():
    correct = np.tile([0, 1], 500)
    near = smooth_calibration_error(np.tile([0.499, 0.501], 500), correct)
    far = smooth_calibration_error(np.tile([0.9, 0.1], 500), correct)
    assert near < 0.05
    assert far > 0.4


def test_it_is_at_least_the_gap_of_the_means_and_ignores_the_order():
    probability, correct = _cases("over-confident", 400)
    error = smooth_calibration_error(probability, correct)
    assert abs(probability.mean() - correct.mean()) <= error <= 1
    assert smooth_calibration_error(probability[::-1], correct[::-1]) == pytest.approx(error, abs=1e-6)


def test_more_cases_of_a_calibrated_estimator_bring_it_towards_zero():
    generator = np.random.default_rng(6)
    errors = []
    for n in (100, 10_000):
        probability = generator.random(n)
        errors.append(smooth_calibration_error(probability, generator.random(n) < probability))
    assert errors[1] < 0.025 < errors[0]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"probability must lie in 0..1, got 1.5 at row 0"):
        smooth_calibration_error([1.5], [1])
    with pytest.raises(ValueError, match="at least one case"):
        smooth_calibration_error([], [])
