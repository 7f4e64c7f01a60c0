"""From the logits of new cases to what a person can weigh: each estimate beside test cases that were scored like it.

Nothing here knows of images: a reading needs the logits of a case, and the scores of test cases by the same systems.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from l2d_core.calibration.binned import reliability_table
from l2d_core.common.checks import require_finite
from l2d_core.data import Scores
from l2d_core.evaluation.adjustment import Adjustment, name_classes
from l2d_core.evaluation.estimator_view import risk_histogram
from l2d_core.evaluation.probabilities import clip_probability
from l2d_core.evaluation.summary import pooled_view
from l2d_core.surrogates import SURROGATES

BINS = 15


@dataclass(frozen=True)
class Evidence:
    """The test cases whose estimate fell into the same bin, (low, high]: n of them, and the share that came true.

    share, and its 95 % Wilson interval, are None where n is 0.
    """

    low: float
    high: float
    n: int
    share: float | None
    interval_low: float | None
    interval_high: float | None

    @property
    def error(self) -> float | None:
        """The observed risk: the share that did not come true."""
        return None if self.share is None else 1 - self.share

    @property
    def error_low(self) -> float | None:
        """The lower end of the observed risk's 95 % interval."""
        return None if self.interval_high is None else 1 - self.interval_high

    @property
    def error_high(self) -> float | None:
        """The upper end of the observed risk's 95 % interval."""
        return None if self.interval_low is None else 1 - self.interval_low


@dataclass(frozen=True)
class RankedEstimate:
    """An estimate of P(right), beside those of the test cases.

    probability: raw, above 1 where the estimator is unbounded. rank: the share of the test cases whose risk, that is
    1 - probability, is at most this one's.
    """

    probability: float
    evidence: Evidence
    rank: float

    @property
    def risk(self) -> float:
        """1 - probability; negative where the estimate is above 1."""
        return 1 - self.probability


@dataclass(frozen=True)
class SystemReading:
    """What one system makes of a case.

    class_probability (K,); predicted: the number of the class that it names; machine: P(the machine is right), that
    class's. margin: the expert's score minus that class's, and deferred: as in `Named`.
    """

    class_probability: tuple[float, ...]
    predicted: int
    machine: RankedEstimate
    margin: float
    deferred: bool


@dataclass(frozen=True)
class Reading:
    """A case as all systems see it. systems: by surrogate; expert: P(the expert is right) by estimator."""

    systems: Mapping[str, SystemReading]
    expert: Mapping[str, RankedEstimate]


@dataclass(frozen=True)
class Measured:
    """An estimator on the test cases: the evidence of each bin, in order, its risks (T,) rising, and their histogram.

    histogram: low, high, share, with a first bin below 0 for estimates above 1.
    """

    bins: tuple[Evidence, ...]
    risks: np.ndarray
    histogram: pd.DataFrame

    @classmethod
    def of(cls, probability: np.ndarray, correct: np.ndarray) -> "Measured":
        """From raw estimates (T,) and whether they came true (T,)."""
        table = reliability_table(clip_probability(probability), correct, bins=BINS)
        risks = np.sort(1 - probability)
        bins = tuple(_evidence(row) for row in table.to_dict("records"))
        return cls(bins, risks, risk_histogram(risks, below_zero=True))

    def place(self, probability: float) -> RankedEstimate:
        """An estimate among them; for its bin, one above 1 counts as 1."""
        right_edges = [one.high for one in self.bins]
        evidence = self.bins[bisect_left(right_edges, min(probability, 1.0))]
        at_most = int(np.searchsorted(self.risks, 1 - probability, side="right"))
        return RankedEstimate(probability, evidence, at_most / len(self.risks))


def _evidence(row: dict) -> Evidence:
    """A row of `reliability_table`."""
    known = row["n"] > 0
    share, low, high = (row[name] if known else None for name in ("share_correct", "interval_low", "interval_high"))
    return Evidence(row["low"], row["high"], int(row["n"]), share, low, high)


@dataclass(frozen=True)
class Reference:
    """The systems on their test cases, to read new cases by: machine by surrogate, expert by estimator.

    adjustment: by which the machine names classes; None: those of the highest score.
    """

    scores: Mapping[str, Scores]
    machine: Mapping[str, Measured]
    expert: Mapping[str, Measured]
    adjustment: Adjustment | None = None


def make_reference(scores: Mapping[str, Scores], adjustment: Adjustment | None = None) -> Reference:
    """From a surrogate's scores each, of one expert who was asked in every case.

    ValueError on other scores, an unknown surrogate, or classes that differ.
    """
    if len({one.class_names for one in scores.values()}) != 1:
        raise ValueError("scores must be of the same classes, and of at least one surrogate")
    machine, expert = {}, {}
    for surrogate, one in scores.items():
        named = name_classes(one.logits, surrogate, adjustment)
        machine[surrogate] = Measured.of(clip_probability(named.confidence), named.classes == one.labels)
        for estimator in SURROGATES[surrogate].estimators:
            view = pooled_view([one], estimator)
            expert[estimator] = Measured.of(view.probability, view.expert_correct)
    return Reference(scores, machine, expert, adjustment)


def read_cases(reference: Reference, logits: Mapping[str, np.ndarray]) -> list[Reading]:
    """A reading a case. logits: surrogate -> (N, K+1), of the surrogates of the reference, the same cases each.

    ValueError where surrogates are missing, shapes differ, or a logit is not finite.
    """
    if set(logits) != set(reference.scores) or len({len(one) for one in logits.values()}) != 1:
        wanted = ", ".join(reference.scores)
        raise ValueError(f"logits must be of {wanted}, of the same cases each; got {', '.join(logits) or 'none'}")
    systems = {name: _read_system(reference, name, one) for name, one in logits.items()}
    experts = {
        estimator: [reference.expert[estimator].place(float(p)) for p in _estimate(surrogate, estimator, one)]
        for surrogate, one in logits.items()
        for estimator in SURROGATES[surrogate].estimators
    }
    count = len(next(iter(logits.values())))
    return [
        Reading(
            {name: readings[row] for name, readings in systems.items()},
            {name: placed[row] for name, placed in experts.items()},
        )
        for row in range(count)
    ]


def _estimate(surrogate: str, estimator: str, logits: np.ndarray) -> np.ndarray:
    return SURROGATES[surrogate].estimators[estimator](_tensor(logits))[:, 0].numpy()


def _read_system(reference: Reference, surrogate: str, logits: np.ndarray) -> list[SystemReading]:
    require_finite("logits", logits)
    probabilities = SURROGATES[surrogate].class_probability(_tensor(logits)).numpy()
    named = name_classes(logits, surrogate, reference.adjustment)
    return [
        SystemReading(
            tuple(own.tolist()),
            int(predicted),
            reference.machine[surrogate].place(min(float(confidence), 1.0)),
            float(margin),
            bool(asks),
        )
        for own, predicted, confidence, margin, asks in zip(
            probabilities, named.classes, named.confidence, named.margin, named.deferred, strict=True
        )
    ]


def _tensor(logits: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(logits, dtype=np.float64))
