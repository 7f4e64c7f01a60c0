"""Cases that many people have voted on: the majority is the label, and one voter, drawn anew, is the expert.

So P(the expert is right | case) is known exactly: it is the share of the votes that the label has.
"""

import numpy as np
from jaxtyping import Float, Float64, Int64

from l2d_core.common.checks import require_range, require_shape

SUM_TOLERANCE = 1e-6


def shares_of(counts: np.ndarray) -> Float64[np.ndarray, "N K"]:
    """Counts of votes (N, K), or shares of any sum, as shares that sum to 1.

    ValueError names the row where a count is negative or not finite, or where nobody has voted.
    """
    counts = np.asarray(counts, dtype=np.float64)
    require_shape("counts", counts, (None, None))
    require_range("counts", counts, 0, np.finfo(np.float64).max)
    sums = counts.sum(axis=1)
    if not sums.all():
        raise ValueError(f"counts must hold at least one vote a case, got none at row {int((sums == 0).argmax())}")
    return counts / sums[:, None]


def majority(shares: Float[np.ndarray, "N K"]) -> Int64[np.ndarray, " N"]:
    """The class with most votes, (N,); of equals the first in the order of the classes."""
    return shares.argmax(axis=1)


def draw_votes(shares: Float[np.ndarray, "N K"], *, generator: np.random.Generator) -> Int64[np.ndarray, " N"]:
    """One vote a case, (N,), drawn from its shares (N, K), which sum to 1 a row. ValueError names a row that is off."""
    _check(shares)
    upper = shares.cumsum(axis=1)
    # Divided by the last, which so is exactly 1: no class without a vote is ever drawn.
    return (generator.random(len(shares))[:, None] >= upper / upper[:, -1:]).sum(axis=1)


def right_probability(shares: Float[np.ndarray, "N K"], labels: Int64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """P(m = y | x) of the votes that `draw_votes` draws: the share of the label. shares (N, K), labels (N,)."""
    _check(shares)
    require_range("labels", labels, 0, shares.shape[1] - 1)
    return shares[np.arange(len(labels)), labels].astype(np.float64)


def _check(shares: np.ndarray) -> None:
    require_range("shares", shares, 0, 1 + SUM_TOLERANCE)
    off = np.abs(shares.sum(axis=1) - 1) > SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise ValueError(f"shares must sum to 1 in each row, got {shares[row].sum():.6g} at row {row}")
