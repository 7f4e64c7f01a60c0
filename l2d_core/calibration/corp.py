"""The reliability diagram without bins (CORP): isotonic regression of what came true on the estimate, with a band."""

import numpy as np
import pandas as pd
from scipy import optimize

from l2d_core.calibration.binned import check_pairs
from l2d_core.calibration.intervals import TAIL
from l2d_core.common.checks import ArrayLike

RESAMPLES = 400
GRID = 101  # points across the range of the estimates, beside the ends of the steps
MOST_CELLS = 4096  # of equal mass, in which a band resamples where there are more distinct estimates


def corp_diagram(
    probability: ArrayLike,
    correct: ArrayLike,
    *,
    generator: np.random.Generator,
    repeats: int = 1,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """The points of the curve, in rising order, and a 95 % consistency band.

    Columns: estimate; share_correct: the increasing function of the estimate nearest to what came true, straight
    between its steps; cases: those in the step at this point; band_low, band_high: where the curve of a calibrated
    estimator lies at this point in 95 % of the resamples, in each of which every case comes true with its estimate.

    repeats: how many scorings of the same cases, one after another, are pooled. The curve counts all of them, cases are
    divided by repeats, and each resample takes one, since the same cases again are no new evidence.

    probability, correct: as in `binned`, with its errors; ValueError where N is no multiple of repeats.
    Source: Dimitriadis, Gneiting and Jordan 2021.
    """
    probability, correct = check_pairs(probability, correct)
    if len(probability) % repeats:
        raise ValueError(f"the {len(probability):,} cases must be a multiple of repeats, got {repeats}")
    estimates, which, n = np.unique(probability, return_inverse=True, return_counts=True)
    fitted = isotonic(np.bincount(which, correct) / n, n)
    step = np.concatenate([[0], np.cumsum(np.diff(fitted) > 0)])
    is_end = np.concatenate([[True], np.diff(step) > 0]) | np.concatenate([np.diff(step) > 0, [True]])
    points = np.unique(np.concatenate([estimates[is_end], np.linspace(estimates[0], estimates[-1], GRID)]))
    nearest = step[np.searchsorted(estimates, points, side="right") - 1]
    low, high = _band(probability.reshape(repeats, -1), points, resamples, generator)
    columns = {"estimate": points, "share_correct": np.interp(points, estimates, fitted)}
    return pd.DataFrame(
        {**columns, "cases": np.bincount(step, n)[nearest] / repeats, "band_low": low, "band_high": high}
    )


def isotonic(share: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The increasing sequence nearest to shares (M,) of n cases each (M,), by least squares."""
    return optimize.isotonic_regression(share, weights=n).x


def _band(
    scorings: np.ndarray, points: np.ndarray, resamples: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles at the points (G,) of the curves of outcomes that are drawn from the estimates (repeats, N)."""
    cells = [_cells(one) for one in scorings]
    curves = np.empty((resamples, len(points)))
    for row in range(resamples):
        estimate, n = cells[row % len(cells)]
        curves[row] = np.interp(points, estimate, isotonic(generator.binomial(n, estimate) / n, n))
    low, high = np.quantile(curves, [TAIL, 1 - TAIL], axis=0)
    return low, high


def _cells(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct estimates in rising order, and how many cases have each; of very many, cells with their means."""
    estimate, n = np.unique(probability, return_counts=True)
    if len(estimate) <= MOST_CELLS:
        return estimate, n
    cell = (np.cumsum(n) - 1) * MOST_CELLS // len(probability)
    _, cell = np.unique(cell, return_inverse=True)
    count = np.bincount(cell, n)
    return np.clip(np.bincount(cell, n * estimate) / count, 0, 1), count.astype(np.int64)
