"""Paired differences: the bootstrap by kinds of cases gives what drawing whole cases gives."""

import numpy as np
import pytest

from l2d_core.calibration.binned import calibration_error
from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.difference import Difference, accuracy_difference, calibration_difference
from l2d_core.comparison.estimates import decide, view_system
from l2d_core.comparison.systems import System
from l2d_core.data import Scores
from l2d_core.evaluation.probabilities import clip_probability

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


def ece(view, rows):
    return calibration_error(clip_probability(view.probability)[rows], view.expert_correct[rows])


def accuracy(view, rows):
    return np.where(decide(view), view.expert_correct, view.machine_correct)[rows].mean()


def test_accuracies_differ_as_when_whole_cases_are_drawn():
    first, other = made("softmax", 1), made("one_vs_all", 2, shift=1.0)
    value, (low, high) = drawn_whole(first, other, accuracy)
    found = accuracy_difference(first, other, decide(first), decide(other))
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.0015)
    assert found.n == N


def test_calibration_errors_differ_as_when_whole_cases_are_drawn():
    first, other = made("softmax", 1), made("one_vs_all", 2, shift=1.0)
    value, (low, high) = drawn_whole(first, other, ece)
    found = calibration_difference(first, other)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.003)


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
    assert calibration_difference(first, other, seed=3) == calibration_difference(first, other, seed=3)
    assert calibration_difference(first, other, seed=3) != calibration_difference(first, other, seed=4)


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
