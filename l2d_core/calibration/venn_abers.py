"""Venn-Abers: a recalibration by isotonic regression that has a guarantee for any order-preserving estimate.

For a new estimate s, isotonic regression is fitted twice, to the held-out cases and a new one at s, which did not come
true (value p0 at s) or did (p1). One of the two is calibrated for cases drawn like those held out.
"""

from dataclasses import dataclass

import numpy as np

from l2d_core.common.checks import ArrayLike, as_floats

Point = tuple[float, float]


@dataclass(frozen=True)
class VennAbers:
    """p0 (M,) and p1 (M,) at the M distinct held-out estimates, in rising order."""

    estimates: np.ndarray
    if_wrong: np.ndarray
    if_right: np.ndarray

    @classmethod
    def fit(cls, estimate: ArrayLike, correct: ArrayLike) -> "VennAbers":
        """Fit to held-out cases: estimate (M,), any finite numbers in the order of trust; correct (M,) 0 or 1."""
        estimate = as_floats("estimate", estimate)
        distinct, which, n = np.unique(estimate, return_inverse=True, return_counts=True)
        right = np.bincount(which, as_floats("correct", correct, (len(estimate),)))
        if_wrong = 1 - _with_a_right_case((n - right)[::-1], n[::-1])[::-1]
        return cls(distinct, if_wrong, _with_a_right_case(right, n))

    def bounds(self, estimate: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """p0 and p1 of new estimates (N,), (N,) each; below and above all that were held out they are 0 and 1."""
        estimate = as_floats("estimate", estimate)
        p0 = np.concatenate([[0.0], self.if_wrong])[np.searchsorted(self.estimates, estimate, side="right")]
        p1 = np.concatenate([self.if_right, [1.0]])[np.searchsorted(self.estimates, estimate)]
        return p0, p1

    def apply(self, estimate: ArrayLike) -> np.ndarray:
        """One probability each, (N,): p1 / (1 - p0 + p1), the one of the least largest regret by log loss."""
        p0, p1 = self.bounds(estimate)
        return p1 / (1 - p0 + p1)


def _with_a_right_case(right: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Isotonic regression with one more case, which is right, at each of the M values in turn: its value there, (M,).

    right, n (M,): how many are right, of how many. The fit is the slope of the greatest convex minorant of the sums.
    While the new case moves to the right by one value, only the corners of the minorant near it change.
    Source: Vovk, Petej and Fedorova 2015, algorithms 1 and 2.
    """
    sums: list[Point] = list(zip(np.cumsum(n).tolist(), np.cumsum(right).tolist(), strict=True))
    corners = _corners([(-1.0, -1.0), (0.0, 0.0), *sums])
    values = np.empty(len(sums))
    for place, (x, y) in enumerate(sums):
        first, second = corners[-1], corners[-2]
        values[place] = (second[1] - first[1]) / (second[0] - first[0])
        moved = (x - 1, y - 1)  # all cases up to here are now to the left of the new one
        if _turn(first, second, moved) < 0:
            corners.pop()
            _push(corners, moved)
    return values


def _corners(points: list[Point]) -> list[Point]:
    """The corners of the greatest convex minorant, the leftmost one last."""
    corners: list[Point] = []
    for point in reversed(points):
        _push(corners, point)
    return corners


def _push(corners: list[Point], point: Point) -> None:
    """Add a point to the left of all corners, and drop those that lie above the new minorant."""
    while len(corners) > 1 and _turn(point, corners[-1], corners[-2]) <= 0:
        corners.pop()
    corners.append(point)


def _turn(a: Point, b: Point, c: Point) -> float:
    """Above 0 where the path a, b, c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
