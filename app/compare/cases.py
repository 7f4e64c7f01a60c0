"""A filter of test cases: by bin, by class, by part of the coverage curve, by who is right."""

from dataclasses import dataclass

import numpy as np

from l2d_core.evaluation.estimator_view import EstimatorView

WHOLE = (0.0, 1.0)
RIGHT = {
    "": "Anyone",
    "machine": "Machine right, expert wrong",
    "expert": "Expert right, machine wrong",
    "both": "Both right",
    "none": "Both wrong",
}
ASKED = {"": "Deferred or kept", "asked": "Deferred", "kept": "Kept"}


@dataclass(frozen=True)
class Filter:
    """place: index of the system; label: a class, or None for all; right, asked: keys of RIGHT and ASKED.

    estimates: (low, high] of P(the expert is right); low 0 includes 0, high 1 all above. coverage: (low, high], the
    part of the accuracy-coverage curve in which the machine starts to keep a case.
    """

    place: int = 0
    label: int | None = None
    estimates: tuple[float, float] = WHOLE
    coverage: tuple[float, float] = WHOLE
    right: str = ""
    asked: str = ""

    @property
    def is_active(self) -> bool:
        """Whether any control is set."""
        return (self.label, self.estimates, self.coverage, self.right, self.asked) != (None, WHOLE, WHOLE, "", "")

    @classmethod
    def bin(cls, low: float, high: float, lowest: float) -> tuple[float, float]:
        """The limits of the estimates in a bin; lowest: the left edge of the first bin."""
        return (0.0 if low <= lowest else low, min(high, 1.0))

    def is_bin(self, low: float, high: float, lowest: float) -> bool:
        """Whether the filter is set to that bin."""
        return self.estimates == self.bin(low, high, lowest)

    def rows(self, view: EstimatorView, deferred: np.ndarray) -> np.ndarray:
        """The rows of these cases, largest gain from asking first. view, deferred: of the system at `place`."""
        keep = _between(np.minimum(view.probability, 1), self.estimates) & _between(_coverage_of(view), self.coverage)
        if self.asked:
            keep &= deferred == (self.asked == "asked")
        if self.label is not None and view.labels is not None:
            keep &= view.labels == self.label
        if self.right and view.labels is not None:
            wanted = {"machine": (1, 0), "expert": (0, 1), "both": (1, 1), "none": (0, 0)}[self.right]
            keep &= (view.machine_correct == wanted[0]) & (view.expert_correct == wanted[1])
        return view.order[keep[view.order]]


def _between(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    low, high = limits
    return ((values > low) | (values <= 0 if low <= 0 else False)) & (values <= high)


def _coverage_of(view: EstimatorView) -> np.ndarray:
    """(N,), the smallest coverage at which the machine keeps each case."""
    coverage = np.empty(len(view))
    coverage[view.order] = 1 - np.arange(len(view)) / len(view)
    return coverage
