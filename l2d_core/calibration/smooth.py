"""The smooth calibration error: a calibration error without bins."""

import numpy as np
import scipy

from l2d_core.calibration.binned import check_pairs
from l2d_core.common.checks import ArrayLike

GRID = 1024
_PRECISION = 1e-6


def smooth_calibration_error(probability: ArrayLike, correct: ArrayLike) -> float:
    """The smooth ECE: the residuals smoothed along the probability axis by a kernel that sets its own width.

    smECE_s = integral over t in 0..1 of |1/N sum_i K_s(t, p_i) (y_i - p_i)|, K_s the Gaussian kernel of
    standard deviation s, reflected at 0 and 1. It falls as s grows; returned is the s at which smECE_s = s,
    in 0..1.

    The residuals go on a grid of 1024 cells, each shared between the two nearest centres. The reflected
    kernel is diagonal in the cosine basis: it multiplies the k-th coefficient by exp(-(pi k s)^2 / 2).

    probability (N,) in 0..1, correct (N,) 0 or 1; ValueError as in `calibration`.
    Source: Blasiok and Nakkiran 2023, Smooth ECE.
    """
    coefficients = np.asarray(scipy.fft.dct(_residuals_on_grid(*check_pairs(probability, correct))))
    decay = -0.5 * (np.pi * np.arange(GRID)) ** 2

    def excess(deviation: float) -> float:
        smoothed = np.asarray(scipy.fft.idct(coefficients * np.exp(decay * deviation**2)))
        return float(np.abs(smoothed).sum()) - deviation

    # At 0 nothing is smoothed, so excess >= 0; no error exceeds 1, so excess < 0 at 2.
    return min(scipy.optimize.root_scalar(excess, bracket=(0.0, 2.0), xtol=_PRECISION).root, 1.0)


def _residuals_on_grid(probability: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The residuals (correct - probability) / N as masses on the cells' centres, (m + 1/2) / GRID."""
    position = probability * GRID - 0.5
    left = np.floor(position)
    share = position - left  # of the right neighbour
    left = left.astype(np.int64)
    residual = (correct - probability) / len(probability)
    # Beyond the outermost centres lies their own mirror image, so that they keep the whole.
    on_left = np.bincount(np.maximum(left, 0), residual * (1 - share), GRID)
    return on_left + np.bincount(np.minimum(left + 1, GRID - 1), residual * share, GRID)
