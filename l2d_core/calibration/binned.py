"""Calibration in bins: does an event come true as often as its estimated probability says?

All functions take probability (N,), estimates in 0..1, and correct (N,), 0 or 1: whether it came true (the
expert was right, the classifier was right). Any array, list or CPU tensor will do. ValueError names the
argument, and the row, on no cases, NaN, lengths that differ, a probability outside 0..1, or a `correct` other
than 0 or 1.

Bins of equal width cut 0..1 at k / bins; bins of equal mass cut the sorted values at the k N / bins-th one.
All are closed on the right, and the first one also holds its left edge, so that 0 and 1 both count and equal
values are never in two bins. Equal-mass bins whose edges coincide are merged, so that there may be fewer.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from l2d_core.calibration.intervals import binomial_band, binomial_mean_deviation, wilson_interval
from l2d_core.common.checks import ArrayLike, as_floats, require_known, require_range

_STATISTICS = [
    "mean_probability",
    "share_correct",
    "gap",
    "interval_low",
    "interval_high",
    "band_low",
    "band_high",
]


def reliability_table(
    probability: ArrayLike,
    correct: ArrayLike,
    *,
    bins: int = 15,
    strategy: str = "equal_width",
    repeats: int = 1,
) -> pd.DataFrame:
    """The reliability diagram as numbers: one row a bin, what was estimated and what came true.

    low, high: the bin, (low, high]; n: its cases; mean_probability, share_correct: their means;
    gap = share_correct - mean_probability, so above 0 where the estimate was too low;
    interval_low, interval_high: the 95 % Wilson interval of share_correct;
    band_low, band_high: where share_correct would fall at least 95 % of the time if the estimator were
    perfectly calibrated, by the quantiles of Binomial(n, mean_probability); a little too wide, for the
    probabilities within a bin differ. Empty bins keep their row, with n = 0 and NaN for every statistic.

    repeats: how many scorings of the same cases (seeds, say) are pooled in `probability` and `correct`. n
    counts them all, but the interval and the band use n / repeats (the band: rounded, at least 1), since the
    same cases again are no new evidence. See the top of this file for the arguments, bins and errors.
    Source: Broecker and Smith 2007 (the band); Wilson 1927.
    """
    _require_whole("repeats", repeats)
    probability, correct = check_pairs(probability, correct)
    edges, which = _bin(probability, bins, strategy)
    counts = np.bincount(which, minlength=len(edges) - 1)
    filled = np.flatnonzero(counts)
    n, low, high = counts[filled], edges[:-1], edges[1:]
    # Rounding may carry the mean of equal values past the edge of their bin.
    mean = np.clip(np.bincount(which, probability)[filled] / n, low[filled], high[filled])
    share = np.bincount(which, correct)[filled] / n
    table = pd.DataFrame({"low": low, "high": high, "n": counts})
    statistics = np.full((len(counts), len(_STATISTICS)), np.nan)
    statistics[filled] = np.stack(
        [
            mean,
            share,
            share - mean,
            *wilson_interval(share, n / repeats),
            *binomial_band(mean, np.maximum(np.round(n / repeats), 1)),
        ],
        axis=1,
    )
    table[_STATISTICS] = statistics
    return table


def without_above_one(table: pd.DataFrame, above: pd.DataFrame) -> pd.DataFrame:
    """A reliability table without the cases whose estimates are above 1, which its last bin counts as estimates of 1.

    For charts that draw these apart, so that each case is drawn once. table: with the columns cases and cases_right,
    n / repeats of all cases and of those that came true. above: one row, or none, with cases and cases_right.
    """
    if above.empty:
        return table
    row = table.index[int(np.flatnonzero(table["n"].to_numpy() > 0)[-1])]
    gone, gone_right = (float(above[name].iloc[0]) for name in ("cases", "cases_right"))
    n, before, right, mean, low = (
        float(table.loc[row, name]) for name in ("n", "cases", "cases_right", "mean_probability", "low")
    )
    cases, right = max(before - gone, 0.0), max(right - gone_right, 0.0)
    statistics = np.full(len(_STATISTICS), np.nan)
    if cases * n / before < 0.5:  # nothing is left, but for rounding
        cases = right = 0.0
    else:
        mean, share = float(np.clip((mean * before - gone) / cases, low, 1)), min(right / cases, 1.0)
        band = binomial_band([mean], [max(round(cases), 1)])
        statistics = np.hstack([mean, share, share - mean, *wilson_interval([share], [cases]), *band])
    left = table.astype({"n": float})
    left.loc[row, ["n", "cases", "cases_right"]] = cases * n / before, cases, right
    left.loc[row, _STATISTICS] = statistics
    return left


def calibration_error(
    probability: ArrayLike, correct: ArrayLike, *, bins: int = 15, strategy: str = "equal_width"
) -> float:
    """The expected calibration error (ECE), plug-in: the mean gap between estimate and truth over all cases.

    sum_b n_b / N |share_correct_b - mean_probability_b|, in 0..1. Empty bins weigh nothing.

    It is biased upwards: `calibration_error_by_chance` says how large it would be for a perfect estimator.
    See the top of this file for the arguments, bins and errors. Source: Naeini, Cooper and Hauskrecht 2015.
    """
    probability, correct = check_pairs(probability, correct)
    _, which = _bin(probability, bins, strategy)
    return float(np.abs(np.bincount(which, correct - probability)).sum() / len(probability))


def signed_calibration_errors(
    probability: ArrayLike, correct: ArrayLike, *, bins: int = 15, strategy: str = "equal_width"
) -> tuple[float, float]:
    """Overconfidence and underconfidence: the two parts of the ECE, from bins above and below the diagonal.

    sum_b n_b / N max(mean_probability_b - share_correct_b, 0), and the same with the sign turned; both in 0..1. Their
    sum is the ECE, their difference is the mean estimate less the share that came true. Both are biased upwards.

    See the top of this file for the arguments, bins and errors.
    """
    probability, correct = check_pairs(probability, correct)
    _, which = _bin(probability, bins, strategy)
    gaps = np.bincount(which, probability - correct) / len(probability)
    return float(np.maximum(gaps, 0).sum()), float(np.maximum(-gaps, 0).sum())


def squared_calibration_error(
    probability: ArrayLike, correct: ArrayLike, *, bins: int = 15, strategy: str = "equal_width"
) -> float:
    """The mean squared calibration error in bins, unbiased: on average 0 for a calibrated estimator.

    sum_b n_b / N c_b, c_b the mean of r_i r_j over the pairs i != j of cases in the bin, with the residual
    r_i = correct_i - probability_i. Two cases are independent, so c_b is unbiased for the bin's squared gap, where the
    plug-in (mean of r_i)^2 adds its own variance. It may be below 0. A bin with one case has no pairs and counts as 0.
    If all estimates in a bin equal p_b and a share s_b came true, c_b is (s_b - p_b)^2 - s_b (1 - s_b) / (n_b - 1).

    See the top of this file for the arguments, bins and errors.
    Source: Kumar, Liang and Ma 2019 (equal estimates); Lee, Huang, Hassani and Dobriban 2023 (pairs).
    """
    probability, correct = check_pairs(probability, correct)
    _, which = _bin(probability, bins, strategy)
    residual = correct - probability
    n = np.bincount(which)
    pairs = np.bincount(which, residual) ** 2 - np.bincount(which, residual**2)  # sum of r_i r_j over i != j
    return float((pairs[n > 1] / (n[n > 1] - 1)).sum() / len(probability))


def debiased_calibration_error(
    probability: ArrayLike, correct: ArrayLike, *, bins: int = 15, strategy: str = "equal_width"
) -> float:
    """The L2 (root mean square) calibration error in bins: the root of `squared_calibration_error`, 0 if negative.

    An L2 error is at least the L1 error that the ECE estimates: compare it with its own kind only. Errors as there.
    """
    return max(0.0, squared_calibration_error(probability, correct, bins=bins, strategy=strategy)) ** 0.5


def calibration_error_by_chance(probability: ArrayLike, *, bins: int = 15, strategy: str = "equal_width") -> float:
    """The ECE that a perfectly calibrated estimator with these very probabilities would show on average.

    sum_b n_b / N E|S_b / n_b - p_b|, by de Moivre's mean absolute deviation of Binomial(n_b, p_b), p_b the
    bin's mean probability. Where probabilities within a bin differ, S_b varies less than that binomial, and
    the deviation is scaled by the ratio of the standard deviations; where they do not, the formula is exact.

    probability (N,): estimates for N cases that come true independently of each other.
    See the top of this file for bins and errors. Source: Diaconis and Zabell 1991 (the mean deviation).
    """
    probability = _check_probability(probability)
    _, which = _bin(probability, bins, strategy)
    filled = np.flatnonzero(np.bincount(which))
    n, total, variance = (
        np.bincount(which, weights)[filled] for weights in (None, probability, probability * (1 - probability))
    )
    mean = np.clip(total / n, 0, 1)
    binomial_variance = n * mean * (1 - mean)
    ratio = np.divide(variance, binomial_variance, out=np.ones(len(n)), where=binomial_variance > 0)
    return float((n * binomial_mean_deviation(mean, n) * np.sqrt(ratio)).sum() / len(probability))


def bin_of(probability: ArrayLike, *, bins: int = 15, strategy: str = "equal_width") -> Int[np.ndarray, " N"]:
    """The bin of each case (N,), counted from 0, as in `reliability_table`. See the top of this file for the rest."""
    return _bin(_check_probability(probability), bins, strategy)[1]


def check_pairs(
    probability: ArrayLike, correct: ArrayLike
) -> tuple[Float64[np.ndarray, " N"], Float64[np.ndarray, " N"]]:
    """Probability and correct in float64, or a ValueError that names the argument, the rule and the row."""
    probability = _check_probability(probability)
    correct = as_floats("correct", correct, (len(probability),))
    bad = (correct != 0) & (correct != 1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"correct must be 0 or 1, got {correct[row]:g} at row {row}")
    return probability, correct


def _check_probability(probability: ArrayLike) -> Float64[np.ndarray, " N"]:
    probability = as_floats("probability", probability)
    if len(probability) == 0:
        raise ValueError("probability must hold at least one case, got 0")
    try:
        require_range("probability", probability, 0, 1)
    except ValueError as problem:
        raise ValueError(f"{problem}; clip estimates above 1 first: evaluation.clip_probability") from None
    return probability


def _equal_width(_probability: np.ndarray, bins: int) -> np.ndarray:
    return np.arange(bins + 1) / bins  # the float nearest to k / bins, as a literal 0.3 is; linspace may be off


def _equal_mass(probability: np.ndarray, bins: int) -> np.ndarray:
    ordered = np.sort(probability)
    ranks = -(-np.arange(1, bins + 1) * len(ordered) // bins)  # k N / bins, rounded up
    return np.concatenate([ordered[:1], np.unique(ordered[ranks - 1])])


_STRATEGIES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "equal_width": _equal_width,
    "equal_mass": _equal_mass,
}


def _bin(probability: np.ndarray, bins: int, strategy: str) -> tuple[np.ndarray, np.ndarray]:
    """The edges of the bins, one more than there are bins, and the bin of each case (N,)."""
    _require_whole("bins", bins)
    require_known("strategy", strategy, _STRATEGIES)
    edges = _STRATEGIES[strategy](probability, bins)
    return edges, np.searchsorted(edges[1:], probability)  # how many right edges are below the value


def _require_whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
