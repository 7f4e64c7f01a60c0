"""How far chance alone moves a share of cases, or a mean over seeds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from scipy import special

from l2d_core.common.checks import ArrayLike, as_floats

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
_Z = float(special.ndtri(1 - TAIL))


def wilson_interval(share: ArrayLike, n: ArrayLike) -> tuple[Float64[np.ndarray, " B"], Float64[np.ndarray, " B"]]:
    """The 95 % Wilson interval of a share of n cases.

    (s + z^2/2n -+ z sqrt(s (1 - s) / n + z^2/4n^2)) / (1 + z^2/n), z = 1.96.

    share (B,) in 0..1; n (B,) above 0, not always whole; returns low (B,) and high (B,), within 0..1.
    Source: Wilson 1927.
    """
    share, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    centre = share + _Z**2 / (2 * n)
    half = _Z * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
    scale = 1 + _Z**2 / n
    return np.clip((centre - half) / scale, 0, share), np.clip((centre + half) / scale, share, 1)


def binomial_band(probability: ArrayLike, n: ArrayLike) -> tuple[Float64[np.ndarray, " B"], Float64[np.ndarray, " B"]]:
    """Where the share of n cases falls at least 95 % of the time if each comes true with this probability.

    The 2.5 % and 97.5 % quantiles of Binomial(n, probability), divided by n.

    probability (B,) in 0..1; n (B,) whole numbers above 0; returns low (B,) and high (B,), within 0..1.
    """
    n, p = np.asarray(n, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    return _binomial_quantile(TAIL, n, p) / n, _binomial_quantile(1 - TAIL, n, p) / n


def binomial_mean_deviation(probability: ArrayLike, n: ArrayLike) -> Float64[np.ndarray, " B"]:
    """How far the share of n cases lies from their common probability on average.

    E|S/n - p| = 2 v C(n, v) p^v (1 - p)^(n - v + 1) / n, v = floor(np) + 1, S ~ Binomial(n, p).

    probability (B,) in 0..1; n (B,) whole numbers above 0; returns (B,). Source: de Moivre 1730.
    """
    n = np.asarray(n, dtype=np.float64)
    p = np.asarray(probability, dtype=np.float64)
    # The minimum only matters at p = 1, where the power of 1 - p makes it 0.
    v = np.minimum(np.floor(n * p) + 1, n)
    log_choose = special.gammaln(n + 1) - special.gammaln(v + 1) - special.gammaln(n - v + 1)
    return 2 * v / n * np.exp(log_choose + special.xlogy(v, p) + special.xlog1py(n - v + 1, -p))


def mean_and_interval(values: Sequence[float | None] | np.ndarray) -> tuple[float | None, float | None]:
    """The mean over seeds, and half the width of its 95 % interval by Student's t.

    mean -+ t_{0.975, n-1} s / sqrt(n), s with n - 1 in its denominator.

    values: one number a seed; a None (a share over 0 cases) is left out. Returns (mean, half width): the half
    width is None for fewer than 2 numbers, the mean too for none. ValueError on NaN or infinity.
    """
    numbers = as_floats("values", [value for value in values if value is not None])
    if len(numbers) == 0:
        return None, None
    if len(numbers) == 1:
        return float(numbers[0]), None
    return float(numbers.mean()), student_t(len(numbers)) * float(numbers.std(ddof=1)) / len(numbers) ** 0.5


def student_t(num_seeds: int) -> float:
    """How many standard errors half of a 95 % interval over so many seeds is: t_{0.975, n-1}; at least 2 seeds."""
    return float(special.stdtrit(num_seeds - 1, 1 - TAIL))


def _binomial_quantile(share: float, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The smallest k with P(S <= k) >= share, S ~ Binomial(n, p): as in scipy.stats, whose import takes 0.4 s."""
    inside = (p > 0) & (p < 1)
    p_inside, whole = np.where(inside, p, 0.5), n.astype(np.int64)
    is_zero = special.bdtr(0, whole, p_inside) >= share  # there the root lies below 0, or is not found
    k = np.where(is_zero, 0, np.ceil(special.bdtrik(share, n, p_inside)))
    below = np.maximum(k - 1, 0)  # the root may lie a rounding error above a whole number
    k = np.where(special.bdtr(below, whole, p_inside) >= share, below, k)
    return np.where(inside, k, np.where(p >= 1, n, 0))
