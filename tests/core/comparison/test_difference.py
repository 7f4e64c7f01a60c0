"""Paired differences: values by hand, and intervals tried on samples whose truth is known."""

import numpy as np
import pytest
from scipy.special import expit

from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.difference import Difference, accuracy_difference, calibration_difference
from l2d_core.comparison.estimates import decide, view_system
from l2d_core.comparison.systems import System
from l2d_core.data import Scores
from l2d_core.evaluation.estimator_view import EstimatorView
from l2d_core.evaluation.recalibration import raw

N, K = 1500, 3


def made(surrogate, seed, shift=0.0):
    rng = np.random.default_rng(7)  # the same labels and answers for all
    labels = rng.integers(0, K, N)
    z = rng.normal(0, 1.5, N)
    answers = np.where(rng.random(N) < 1 / (1 + np.exp(-z)), labels, (labels + 1) % K)
    own = np.random.default_rng(seed)
    logits = own.normal(0, 1, (N, K + 1))
    logits[np.arange(N), labels] += 1.2
    logits[:, K] = z + own.normal(0, 0.5, N) + shift
    return view_system(System(surrogate, Scores.from_arrays(logits, labels, answers, surrogate=surrogate)))


def drawn_whole(first, other, statistic, resamples=3000):
    rng = np.random.default_rng(1)
    differences = []
    for _ in range(resamples):
        rows = rng.integers(0, N, N)
        differences.append(statistic(other, rows) - statistic(first, rows))
    value = statistic(other, np.arange(N)) - statistic(first, np.arange(N))
    return value, np.quantile(differences, [0.025, 0.975]) - np.mean(differences) + value


def accuracy(view, rows):
    return np.where(decide(view), view.expert_correct, view.machine_correct)[rows].mean()


def test_accuracies_differ_as_when_whole_cases_are_drawn():
    first, other = made("softmax", 1), made("one_vs_all", 2, shift=1.0)
    value, (low, high) = drawn_whole(first, other, accuracy)
    found = accuracy_difference(first, other, decide(first), decide(other))
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.0015)
    assert found.n == N


def pairs_written_out(view, bins):
    """The mean over cases of r_i r_j averaged over the other cases of the bin, case by case."""
    residual, which = (
        view.expert_correct - np.minimum(view.probability, 1),
        np.ceil(np.minimum(view.probability, 1) * bins),
    )
    total = 0.0
    for case in range(len(view)):
        others = np.flatnonzero(which == which[case])
        others = others[others != case]
        total += residual[case] * residual[others].mean() if len(others) else 0.0
    return total / len(view)


def test_calibration_is_compared_by_the_squared_errors_over_pairs_of_cases():
    first, other = made("softmax", 1), made("one_vs_all", 2, shift=1.0)
    found = calibration_difference(first, other)
    assert found.value == pytest.approx(pairs_written_out(other, 15) - pairs_written_out(first, 15), abs=1e-12)
    assert found.low < found.value < found.high


def test_a_system_does_not_differ_from_itself():
    view = made("one_vs_all", 1)
    assert accuracy_difference(view, view, decide(view), decide(view)) == Difference(0, 0, 0, N)
    found = calibration_difference(view, view)
    assert (found.value, found.low, found.high) == pytest.approx((0, 0, 0))
    assert not found.is_clear


def test_a_difference_is_clear_where_its_interval_is_on_one_side():
    first, other = made("one_vs_all", 1), made("one_vs_all", 1, shift=3.0)
    found = calibration_difference(first, other, bins=10, strategy="equal_mass")
    assert found.low > 0
    assert found.is_clear


def test_the_same_seed_gives_the_same_interval():
    first, other = made("softmax", 1), made("one_vs_all", 2)
    decided = decide(first), decide(other)
    assert accuracy_difference(first, other, *decided, seed=3) == accuracy_difference(first, other, *decided, seed=3)
    assert accuracy_difference(first, other, *decided, seed=3) != accuracy_difference(first, other, *decided, seed=4)


def test_other_numbers_of_cases_and_missing_labels_are_refused():
    view = made("softmax", 1)
    rng = np.random.default_rng(0)
    logged = view_system(System("log", LoggedOutputs(rng.normal(0, 1, (N, K + 1)), rng.random(N) < 0.5, "softmax", 0)))
    with pytest.raises(ValueError, match="log comes without labels"):
        accuracy_difference(view, logged, decide(view), decide(logged))
    assert calibration_difference(view, logged).n == N
    few = view_system(System("few", LoggedOutputs(rng.normal(0, 1, (5, K + 1)), rng.random(5) < 0.5, "softmax", 0)))
    with pytest.raises(ValueError, match=r"the same cases, got 1,500 and 5"):
        calibration_difference(view, few)


# Samples of known truth: the true probability of a case is sigmoid(u + v), u and v standard normal.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
GRID = np.linspace(-9, 9, 2001)
SEEN_BY_ONE = (expit(GRID[:, None] + NODES) * WEIGHTS).sum(1) / WEIGHTS.sum()  # P(right | u), perfectly calibrated


def of_u(u):
    return np.interp(u, GRID, SEEN_BY_ONE)


# Name -> the estimates of both systems of (u, v, noise, noise), and whether both errors are equal.
SYSTEMS = {
    "calibrated, one of them sharper": (lambda u, v, *_: (expit(u + v), of_u(u)), True),
    "calibrated, equally sharp": (lambda u, v, *_: (of_u(u), of_u(v)), True),
    "equally overconfident": (lambda u, v, *_: (expit(2 * u), expit(2 * v)), True),
    "almost the same system twice": (
        lambda u, v, e, f: (expit(1.5 * (u + v) + 0.2 * e), expit(1.5 * (u + v) + 0.2 * f)),
        True,
    ),
    "calibrated against overconfident": (lambda u, v, *_: (expit(u + v), expit(2 * (u + v))), False),
    "dependent, one worse": (lambda u, v, *_: (expit(1.5 * (u + v)), expit(1.3 * (u + v))), False),
}


def view_of(probability, correct):
    logits = np.zeros((len(correct), 3))
    return EstimatorView("one_vs_all", "sigmoid", raw("one_vs_all"), logits, probability, correct)


def two_views(system, n, rng):
    parts = rng.normal(size=(4, n))
    correct = rng.random(n) < expit(parts[0] + parts[1])
    return [view_of(probability, correct) for probability in system(*parts)]


def count_intervals(name, n, samples, seed):
    """The share of the samples whose interval holds the true difference, and the share with a clear difference."""
    system, is_equal = SYSTEMS[name]
    rng = np.random.default_rng(seed)
    truth = 0.0 if is_equal else calibration_difference(*two_views(system, 400_000, rng)).value
    found = [calibration_difference(*two_views(system, n, rng)) for _ in range(samples)]
    holds = np.mean([one.low <= truth <= one.high for one in found])
    return holds, np.mean([one.is_clear for one in found])


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_interval_of_calibration_holds_the_truth_and_equal_systems_are_seldom_told_to_differ(name):
    holds, clear = count_intervals(name, n=600, samples=200, seed=0)
    assert holds >= 0.93
    if SYSTEMS[name][1]:
        assert clear <= 0.05
    else:
        assert clear > 0.15  # what differs is found far more often than chance would


def few_errors(samples, seed, n=200):
    """The share of clear differences of two calibrated systems, one sharper, whose expert is right in nearly 98 %."""
    seen_by_one = (expit(4 + (GRID[:, None] + NODES) / 2) * WEIGHTS).sum(1) / WEIGHTS.sum()
    rng, clear = np.random.default_rng(seed), 0
    for _ in range(samples):
        u, v = rng.normal(size=(2, n))
        sharp, other = expit(4 + (u + v) / 2), np.interp(u, GRID, seen_by_one)
        correct = rng.random(n) < sharp
        clear += calibration_difference(view_of(sharp, correct), view_of(other, correct)).is_clear
    return clear / samples


def test_few_errors_in_sparse_bins_do_not_make_calibrated_systems_differ():
    assert few_errors(samples=200, seed=0) <= 0.05  # 16 % where only the errors of the sample count


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000])
def test_few_errors_in_sparse_bins_do_not_in_many_samples(n):
    assert few_errors(samples=1000, seed=1, n=n) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_interval_of_calibration_covers_in_small_and_large_samples(name, n, seed):
    holds, clear = count_intervals(name, n, samples=1000, seed=seed)
    assert 0.92 <= holds <= 0.997
    if SYSTEMS[name][1]:
        assert clear <= 0.06


def test_the_interval_of_accuracy_holds_the_truth():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        u, v = rng.normal(size=(2, 400))
        labels = rng.integers(0, 2, 400)
        logits = [np.where(labels, value, -value) for value in (u + 0.5, v + 1.0)]
        views = [
            view_system(
                System("s", Scores.from_arrays(np.c_[-one, one, one * 0 - 99], labels, labels, surrogate="one_vs_all"))
            )
            for one in logits
        ]
        found = accuracy_difference(*views, *[decide(view) for view in views])
        held.append(found.low <= NORMAL_CDF_1 - NORMAL_CDF_HALF <= found.high)
    assert 0.91 <= np.mean(held) <= 0.99


NORMAL_CDF_HALF, NORMAL_CDF_1 = 0.6914625, 0.8413447  # P(u + 0.5 > 0), P(v + 1 > 0)
