"""The Brier score, and what of it is calibration and what is refinement."""

from dataclasses import dataclass

import numpy as np

from l2d_core.calibration.binned import check_pairs
from l2d_core.calibration.corp import isotonic
from l2d_core.common.checks import ArrayLike


@dataclass(frozen=True)
class BrierDecomposition:
    """brier = miscalibration + refinement = miscalibration - discrimination + uncertainty; each in 0..1.

    miscalibration: what the best increasing recalibration would save; refinement: what it would leave.
    discrimination: what the recalibrated estimate saves over the best constant; uncertainty: the score of
    that.
    """

    brier: float
    miscalibration: float
    refinement: float
    discrimination: float
    uncertainty: float


def brier_decomposition(probability: ArrayLike, correct: ArrayLike) -> BrierDecomposition:
    """Cut the Brier score into calibration and refinement without bins, by isotonic regression (CORP).

    With S the Brier score, r the isotonic regression of correct on probability, m the share that came true:
    miscalibration = S(p) - S(r), refinement = S(r), discrimination = S(m) - S(r),
    uncertainty = S(m) = m (1 - m). Where all came true, or none, only miscalibration is above 0.

    probability (N,) in 0..1, correct (N,) 0 or 1; ValueError as in `calibration`.
    Source: Dimitriadis, Gneiting and Jordan 2021.
    """
    probability, correct = check_pairs(probability, correct)
    brier = float(np.mean((probability - correct) ** 2))
    _, which, n = np.unique(probability, return_inverse=True, return_counts=True)
    recalibrated = isotonic(np.bincount(which, correct) / n, n)[which]
    refinement = float(np.mean((recalibrated - correct) ** 2))
    uncertainty = float(correct.mean() * (1 - correct.mean()))
    return BrierDecomposition(brier, brier - refinement, refinement, uncertainty - refinement, uncertainty)
