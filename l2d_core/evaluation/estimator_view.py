"""What one estimator of P(the expert is right) says of a system's test cases, and the tables drawn from that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from l2d_core.calibration import binned
from l2d_core.calibration.corp import corp_diagram
from l2d_core.data import Scores
from l2d_core.evaluation.curves import columns_at
from l2d_core.evaluation.deferral import best_expert, deferral_order
from l2d_core.evaluation.margins import gain_margin
from l2d_core.evaluation.probabilities import clip_probability
from l2d_core.evaluation.recalibration import Recalibration, raw
from l2d_core.surrogates import SURROGATES

COVERAGES = np.linspace(0, 1, 101)
RISK_BIN = 0.05
ESTIMATE_BIN, ESTIMATE_END = 0.05, 3.0


@dataclass(frozen=True)
class EstimatorView:
    """The test cases of a system through one estimator, as it is or recalibrated.

    logits: (N, K+J). probability: that the expert is right, (N,), raw: above 1 where the estimator is unbounded.
    expert_correct: (N,) bool, of the expert of the highest score. labels, expert_class: (N,), None where not known.
    name: of the system, for messages. num_seeds: of how many seeds the cases were pooled.
    """

    surrogate: str
    estimator: str
    recalibration: Recalibration
    logits: np.ndarray
    probability: np.ndarray
    expert_correct: np.ndarray
    labels: np.ndarray | None = None
    expert_class: np.ndarray | None = None
    num_experts: int = 1
    name: str = "the system"
    num_seeds: int = 1

    def __len__(self) -> int:
        return len(self.probability)

    @cached_property
    def confidence(self) -> np.ndarray:
        """The probability of the machine's class, (N,), recalibrated where the expert's is."""
        return self.recalibration.confidence(self.logits, self.num_experts)

    @cached_property
    def machine_class(self) -> np.ndarray:
        """The class of the highest score, (N,)."""
        return self.logits[:, : -self.num_experts].argmax(axis=1)

    @cached_property
    def machine_correct(self) -> np.ndarray:
        """(N,) bool; ValueError without labels."""
        if self.labels is None:
            raise ValueError(f"{self.name} comes without labels: whether the machine is right is not known")
        return self.machine_class == self.labels

    @cached_property
    def defer_margin(self) -> np.ndarray:
        """What asking gains, (N,), as it is or by the recalibrated estimate. At least 0 defers."""
        if self.recalibration.method != "none":
            return self.probability - self.confidence
        return gain_margin(self.logits, self.surrogate, self.num_experts)

    @cached_property
    def order(self) -> np.ndarray:
        """The rows in the order in which a growing budget defers them."""
        return deferral_order(self.defer_margin)


def view_scores(
    scores: Scores, estimator: str | None = None, recalibration: Recalibration | None = None
) -> EstimatorView:
    """Scores through an estimator, by default the surrogate's first, and a recalibration of it, by default none.

    ValueError on an unknown surrogate or estimator.
    """
    recalibration = recalibration or raw(scores.surrogate, estimator)
    expert = best_expert(scores.logits, scores.num_experts)
    rows = np.arange(len(scores))
    expert_class = scores.answers[rows, expert]
    return EstimatorView(
        surrogate=scores.surrogate,
        estimator=estimator or next(iter(SURROGATES[scores.surrogate].estimators)),
        recalibration=recalibration,
        logits=scores.logits,
        probability=recalibration.apply(scores.logits, scores.num_experts)[rows, expert],
        expert_correct=expert_class == scores.labels,
        labels=scores.labels,
        expert_class=expert_class,
        num_experts=scores.num_experts,
    )


def pool(views: Sequence[EstimatorView]) -> EstimatorView:
    """The views of several seeds as one, their cases one after another; tables of it count the cases of one seed."""
    parts = {
        name: np.concatenate([getattr(view, name) for view in views])
        for name in ("logits", "probability", "expert_correct", "labels", "expert_class")
    }
    return replace(views[0], **parts, num_seeds=len(views))


def reliability(view: EstimatorView, *, bins: int = 15, strategy: str = "equal_width") -> pd.DataFrame:
    """`calibration.reliability_table` of the estimates, those above 1 as 1, with the columns `cases` and `cases_right`.

    These two, and the interval and the band, are those of one seed's number of cases: every seed scores the same cases,
    with answers drawn anew, so that more seeds are less evidence than more cases; interval and band are a little too
    wide, rather than too narrow.
    """
    probability = clip_probability(view.probability)
    return reliability_of(probability, view.expert_correct, bins=bins, strategy=strategy, num_seeds=view.num_seeds)


def reliability_of(
    probability: np.ndarray, correct: np.ndarray, *, bins: int = 15, strategy: str = "equal_width", num_seeds: int = 1
) -> pd.DataFrame:
    """The table of `reliability` from estimates in 0..1 and what came true, (N,) each."""
    table = binned.reliability_table(probability, correct, bins=bins, strategy=strategy, repeats=num_seeds)
    table["cases"] = table["n"] / num_seeds
    table["cases_right"] = table["cases"] * table["share_correct"].fillna(0)
    return table


def corp(view: EstimatorView) -> pd.DataFrame:
    """`calibration.corp_diagram` of the estimates, those above 1 as 1; its band is drawn with one seed's cases."""
    probability, generator = clip_probability(view.probability), np.random.default_rng(0)
    return corp_diagram(probability, view.expert_correct, repeats=view.num_seeds, generator=generator)


def above_one(view: EstimatorView) -> pd.DataFrame:
    """The cases whose estimate is above 1: one row with share_correct, cases and cases_right per seed, or no row."""
    correct = view.expert_correct[view.probability > 1]
    rows = [(correct.mean(), len(correct) / view.num_seeds, correct.sum() / view.num_seeds)] if len(correct) else []
    return pd.DataFrame(rows, columns=["share_correct", "cases", "cases_right"], dtype=float)


def risk_histogram(risk: np.ndarray, *, below_zero: bool = False, of: int | None = None) -> pd.DataFrame:
    """Shares of the cases by risk in bins of 0.05, the last one closed: low, high, share.

    risk (N,), at most 1: 1 - expert_probability, not clipped. below_zero: put a bin from -inf to 0 in front, for the
    estimates above 1; else negative risks are in no bin. of: how many cases the shares are of, by default N.
    """
    total = max(len(risk) if of is None else of, 1)
    edges = np.round(np.arange(0, 1 + RISK_BIN / 2, RISK_BIN), 10)
    counts, _ = np.histogram(np.round(risk[risk >= 0], 10), edges)  # rounded, or 1 - 0.8 would fall below 0.2
    table = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "share": counts / total})
    if not below_zero:
        return table
    first = pd.DataFrame({"low": [-np.inf], "high": [0.0], "share": [np.count_nonzero(risk < 0) / total]})
    return pd.concat([first, table], ignore_index=True)


def estimate_histogram(view: EstimatorView) -> pd.DataFrame:
    """The raw estimates in bins of 0.05 from 0 to 3, and a last bin without an end: low, high, share, share_right.

    share: of all cases; share_right: of all cases, those in the bin in which the expert is right. high of the last bin
    is infinite.
    """
    edges = np.append(np.round(np.arange(0, ESTIMATE_END + ESTIMATE_BIN / 2, ESTIMATE_BIN), 10), np.inf)
    # An estimate of exactly 1 is not above 1: it belongs to the bin that ends there.
    estimates = np.where(view.probability == 1, np.nextafter(1.0, 0), view.probability)
    total = max(len(view), 1)
    columns = {"share": None, "share_right": view.expert_correct.astype(float)}
    shares = {name: np.histogram(estimates, edges, weights=weight)[0] / total for name, weight in columns.items()}
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **shares})


def coverage_curve(view: EstimatorView) -> pd.DataFrame:
    """Accuracy at 101 coverages, the case of the largest margin deferred first.

    Columns coverage, system_accuracy, machine_accuracy (on the kept; NaN at 0), optimal, random (system accuracy by the
    best and by a chance choice of what to defer). ValueError without labels.
    """
    columns = columns_at(view.defer_margin, view.machine_correct, view.expert_correct, COVERAGES)
    return pd.DataFrame({"coverage": COVERAGES, **columns})
