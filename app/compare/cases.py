"""Which test cases are looked at: those of a bin, a class, a part of the curve, or of who was right."""

from dataclasses import dataclass

import numpy as np

from l2d_core.evaluation.estimator_view import EstimatorView

WHOLE = (0.0, 1.0)
RIGHT = {
    "": "Whoever is right",
    "machine": "Machine right, expert wrong",
    "expert": "Expert right, machine wrong",
    "both": "Both right",
    "none": "Both wrong",
}
ASKED = {"": "Asked or kept", "asked": "Asked", "kept": "Kept"}


@dataclass(frozen=True)
class Filter:
    """Which cases of a system. place: which system; label: a class, or None for all; right, asked: of RIGHT, ASKED.

    estimates: (low, high], of P(the expert is right); the first bin holds 0, the last one all above 1 too. coverage:
    (low, high], the part of the accuracy-coverage curve in which a case comes to be kept.
    """

    place: int = 0
    label: int | None = None
    estimates: tuple[float, float] = WHOLE
    coverage: tuple[float, float] = WHOLE
    right: str = ""
    asked: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it leaves any case out."""
        return (self.label, self.estimates, self.coverage, self.right, self.asked) != (None, WHOLE, WHOLE, "", "")

    @classmethod
    def bin(cls, low: float, high: float, lowest: float) -> tuple[float, float]:
        """The estimates of a bin with these edges; lowest: the left edge of the first one."""
        return (0.0 if low <= lowest else low, min(high, 1.0))

    def is_bin(self, low: float, high: float, lowest: float) -> bool:
        """Whether the estimates are those of that bin."""
        return self.estimates == self.bin(low, high, lowest)

    def rows(self, seen: EstimatorView, deferred: np.ndarray) -> np.ndarray:
        """The rows of these cases, those that gain most from asking first. seen, deferred: of the system in place."""
        keep = _between(np.minimum(seen.probability, 1), self.estimates) & _between(_coverage_of(seen), self.coverage)
        if self.asked:
            keep &= deferred == (self.asked == "asked")
        if self.label is not None and seen.labels is not None:
            keep &= seen.labels == self.label
        if self.right and seen.labels is not None:
            wanted = {"machine": (1, 0), "expert": (0, 1), "both": (1, 1), "none": (0, 0)}[self.right]
            keep &= (seen.machine_correct == wanted[0]) & (seen.expert_correct == wanted[1])
        return seen.order[keep[seen.order]]


def _between(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    low, high = limits
    return ((values > low) | (values <= 0 if low <= 0 else False)) & (values <= high)


def _coverage_of(seen: EstimatorView) -> np.ndarray:
    """The least coverage at which the machine keeps a case, (N,)."""
    coverage = np.empty(len(seen))
    coverage[seen.order] = 1 - np.arange(len(seen)) / len(seen)
    return coverage
