"""Calibration without bins, from cumulative differences: tests with a p-value, and the largest error of any interval.

With the residuals r_i = correct_i - probability_i, sorted by estimate, C(c) = 1/N sum of r_i over the cases with an
estimate of at most c. Cases of equal estimates enter together, so that their order does not matter.

The hypothesis of both tests is that each case comes true with its estimated probability, independently of the others.
Cases that depend on each other (images of one lesion, one case scored by several seeds) make p-values too small: test
one seed at a time. Estimates above 1 have to be set to 1 first. What comes true at an estimate of 0, or fails at one of
1, was impossible: the p-value is 0.

Arguments and errors are as in `binned`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from l2d_core.calibration.binned import check_pairs
from l2d_core.common.checks import ArrayLike

_TERMS = np.arange(1, 31)
_SMALL = 2.0  # a range up to which the series for small ones is used


@dataclass(frozen=True)
class CalibrationTest:
    """statistic: standardised, p_value: how often a calibrated estimator would show at least as much; n: cases."""

    statistic: float
    p_value: float
    n: int


def spiegelhalter_test(probability: ArrayLike, correct: ArrayLike) -> CalibrationTest:
    """Spiegelhalter's z, two-sided: is the Brier score the one that a calibrated estimator would have?

    z = sum r_i (1 - 2 p_i) / sqrt(sum (1 - 2 p_i)^2 p_i (1 - p_i)), standard normal for a calibrated estimator and
    many cases. It sees errors that push estimates towards 0 and 1 or away from them, and misses those that cancel.
    Where all estimates are 0, 1/2 or 1 there is nothing to test: z = 0.

    Source: Spiegelhalter 1986.
    """
    p, right = check_pairs(probability, correct)
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    z = float(((right - p) * (1 - 2 * p)).sum()) / variance**0.5 if variance > 0 else 0.0
    return CalibrationTest(z, 0.0 if _is_impossible(p, right) else 2 * float(special.ndtr(-abs(z))), len(p))


def kuiper_test(probability: ArrayLike, correct: ArrayLike) -> CalibrationTest:
    """Kuiper's test on the cumulative differences: is any interval of estimates too high or too low?

    (max C - min C) / (sqrt(sum p_i (1 - p_i)) / N), C starting at 0. For a calibrated estimator and many cases this is
    the range of a Brownian motion on [0, 1]. It sees any miscalibration, given enough cases.

    Source: Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu 2022; Feller 1951 (the range).
    """
    p, right = check_pairs(probability, correct)
    deviation = float((p * (1 - p)).sum()) ** 0.5 / len(p)
    statistic = float(np.ptp(_cumulative(p, right))) / deviation if deviation > 0 else 0.0
    return CalibrationTest(statistic, 0.0 if _is_impossible(p, right) else _range_exceeds(statistic), len(p))


def cutoff_calibration_error(probability: ArrayLike, correct: ArrayLike) -> float:
    """The largest |mean of (correct - probability) x [estimate in I]| over all intervals I of estimates, in 0..1.

    This is max C - min C, C starting at 0. A deferral rule compares an estimate with a cutoff: among the cases on one
    side of any cutoff, the mean estimate is off by at most this, per case of the whole sample. It is biased upwards, as
    the ECE is; `kuiper_test` tests it.

    Source: Rossellini, Soloff, Barber, Ren and Willett 2025 (arXiv 2502.19851).
    """
    return float(np.ptp(_cumulative(*check_pairs(probability, correct))))


def combined_p_value(p_values: Sequence[float | None]) -> float | None:
    """One p-value from those of several seeds, which score the same cases: twice their mean, at most 1.

    It is valid however they depend on each other. A single one stays as it is; a None is left out; None without any.
    Source: Rueschendorf 1982; Vovk and Wang 2020.
    """
    known = [value for value in p_values if value is not None]
    if len(known) < 2:
        return known[0] if known else None
    return min(1.0, 2 * float(np.mean(known)))


def _cumulative(p: np.ndarray, right: np.ndarray) -> np.ndarray:
    """C before the first estimate and after each distinct one."""
    distinct, which = np.unique(p, return_inverse=True)
    sums = np.bincount(which, right - p, len(distinct))
    return np.concatenate([[0.0], np.cumsum(sums)]) / len(p)


def _is_impossible(p: np.ndarray, right: np.ndarray) -> bool:
    return bool((((p == 0) & (right == 1)) | ((p == 1) & (right == 0))).any())


def _range_exceeds(x: float) -> float:
    """P(the range of Brownian motion on [0, 1] > x), by the series that converges fast for this x."""
    if x <= 0:
        return 1.0
    if x > _SMALL:
        return float((8 * (-1.0) ** (_TERMS - 1) * _TERMS * special.ndtr(-_TERMS * x)).sum())
    a = 2 * np.pi**2 * (_TERMS - 0.5) ** 2
    return 1 - float(((4 / a + 8 / x**2) * np.exp(-a / x**2)).sum())
