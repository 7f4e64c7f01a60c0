"""What the live lab draws of a fit: tables and plain arrays, so that it can be shown before torch is imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from app.fits.settings import Binning

if TYPE_CHECKING:
    import pandas as pd

    from l2d_core.data import Scores


@dataclass(frozen=True)
class Tables:
    """The tables of a fit with one binning; by estimator except the summary and the true risk.

    summary: `summary.summarise`; reliability, above_one, risk, estimates: of `summary.chart_tables`; drawn: reliability
    without the cases in above_one; true_risk: the histogram of the true risk, None where it is known only by class.
    is_bounded: whether no estimate can be above 1. corp: of `estimator_view.corp`, empty unless asked for: it takes as
    long as all others.
    """

    binning: Binning
    summary: "pd.DataFrame"
    reliability: "Mapping[str, pd.DataFrame]"
    drawn: "Mapping[str, pd.DataFrame]"
    above_one: "Mapping[str, pd.DataFrame]"
    risk: "Mapping[str, pd.DataFrame]"
    estimates: "Mapping[str, pd.DataFrame]"
    true_risk: "pd.DataFrame | None"
    is_bounded: Mapping[str, bool]
    corp: "Mapping[str, pd.DataFrame]" = field(default_factory=dict)


@dataclass(frozen=True)
class Truth:
    """The true P(the expert is right), (N,) on the test cases: given the case, or given its class only."""

    probability: np.ndarray
    given_case: bool


@dataclass(frozen=True)
class Plane:
    """For data in the plane: points (G, 2), whether the Bayes rule defers there, and the test cases, (N, 2) and (N,).

    deferred: surrogate -> (G,), the share of the seeds that defer a point.
    """

    points: np.ndarray
    bayes_defers: np.ndarray
    cases: np.ndarray
    labels: np.ndarray
    deferred: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class LabResult:
    """A fit with everything that the page draws.

    curves: surrogate -> `summary.coverage_curves`. scores: by surrogate, one per seed; empty, with no truth and no
    seconds, where only the tables are shipped. classes: surrogate -> `summary.class_means` where these are shipped.
    """

    num_train: int
    num_test: int
    class_names: tuple[str, ...]
    curves: "Mapping[str, pd.DataFrame]"
    tables: Tables
    scores: "Mapping[str, Sequence[Scores]]"
    seconds: float | None = None
    truth: Truth | None = None
    plane: Plane | None = None
    classes: "Mapping[str, pd.DataFrame] | None" = None
