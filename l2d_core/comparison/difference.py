"""How much better one system is than another on the same cases, and how far chance alone would move that."""

from dataclasses import dataclass

import numpy as np

from l2d_core.calibration import binned
from l2d_core.calibration.intervals import LEVEL
from l2d_core.common.checks import as_flags
from l2d_core.evaluation.estimator_view import EstimatorView
from l2d_core.evaluation.probabilities import clip_probability

RESAMPLES = 2000


@dataclass(frozen=True)
class Difference:
    """The other's number less the first's, its 95 % interval by a paired bootstrap over cases, and their number."""

    value: float
    low: float
    high: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval is to one side of 0."""
        return self.low > 0 or self.high < 0


def accuracy_difference(
    first: EstimatorView, other: EstimatorView, first_deferred: np.ndarray, other_deferred: np.ndarray, *, seed: int = 0
) -> Difference:
    """The difference of the system accuracies. A resample's is that of N cases drawn with putting back.

    Only how many cases each system alone gets right counts, so that the draws are multinomial: no approximation.
    first_deferred, other_deferred (N,) bool. ValueError for logged outputs, or on lengths that differ.
    """
    _require_same_length(first, other)
    right = [_system_right(view, deferred) for view, deferred in ((first, first_deferred), (other, other_deferred))]
    gained = right[1].astype(int) - right[0]
    return _bootstrap(np.bincount(gained + 1, minlength=3), np.array([[-1.0], [0.0], [1.0]]), np.array([1.0]), seed)


def calibration_difference(
    first: EstimatorView, other: EstimatorView, *, bins: int = 15, strategy: str = "equal_width", seed: int = 0
) -> Difference:
    """The difference of the ECEs; the bins stay those of all cases.

    Cases in the same bins of both, with the same outcomes, are drawn as if all had the mean estimate of their kind:
    within a bin estimates differ little beside outcomes, which are 0 or 1. The interval is that of the resamples'
    differences, moved so that their mean is the value: a resample's ECE is higher than that of its cases by what chance
    adds. ValueError on lengths that differ.
    """
    _require_same_length(first, other)
    sides = [_residuals(view, bins, strategy) for view in (first, other)]
    kind = np.zeros(len(first), dtype=np.int64)
    for (_, which), view in zip(sides, (first, other), strict=True):
        kind = (kind * (which.max() + 1) + which) * 2 + view.expert_correct
    _, kind, counts = np.unique(kind, return_inverse=True, return_counts=True)
    columns, signs = [], []
    for (residual, which), sign in zip(sides, (-1.0, 1.0), strict=True):
        own_bin = np.zeros(len(counts), dtype=np.int64)
        own_bin[kind] = which
        column = np.zeros((len(counts), which.max() + 1))
        column[np.arange(len(counts)), own_bin] = np.bincount(kind, residual) / counts
        columns.append(column)
        signs.append(np.full(column.shape[1], sign))
    return _bootstrap(counts, np.concatenate(columns, axis=1), np.concatenate(signs), seed)


def _bootstrap(counts: np.ndarray, sums: np.ndarray, signs: np.ndarray, seed: int) -> Difference:
    """The difference where a case of kind i adds sums[i] to each of M sums: signs . |sum / N|, or the sum for one."""
    n = int(counts.sum())

    def differences(drawn: np.ndarray) -> np.ndarray:
        totals = drawn @ sums / n
        return totals @ signs if len(signs) == 1 else np.abs(totals) @ signs

    value = float(differences(counts[None])[0])
    drawn = differences(np.random.default_rng(seed).multinomial(n, counts / n, RESAMPLES))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - drawn.mean() + value
    # Rounded, so that what is the same in both is 0 rather than the rounding error of a sum.
    value, low, high = (round(float(number), 12) for number in (value, low, high))
    return Difference(value, low, high, n)


def _residuals(view: EstimatorView, bins: int, strategy: str) -> tuple[np.ndarray, np.ndarray]:
    probability = clip_probability(view.probability)
    return view.expert_correct - probability, binned.bin_of(probability, bins=bins, strategy=strategy)


def _system_right(view: EstimatorView, deferred: np.ndarray) -> np.ndarray:
    return np.where(as_flags("deferred", deferred, len(view)), view.expert_correct, view.machine_correct)


def _require_same_length(first: EstimatorView, other: EstimatorView) -> None:
    if len(first) != len(other):
        raise ValueError(f"both systems must have the same cases, got {len(first):,} and {len(other):,}: align them")
