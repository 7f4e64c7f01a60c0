"""Weighing rare classes: the machine names the class of the largest log probability less tau times its log prior.

At 0 the machine is as trained and aims at accuracy; at 1 it aims at the accuracy averaged over classes. A case is
deferred where the expert's score is at least that of the class named.
Source: Menon and others 2021, arXiv 2007.07314 (logit adjustment after training).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.data import Scores
from l2d_core.evaluation.probabilities import as_tensor
from l2d_core.surrogates import SURROGATES


@dataclass(frozen=True)
class Adjustment:
    """prior: the share of each class, (K,), above 0; tau: at least 0. ValueError where they are not."""

    prior: np.ndarray
    tau: float = 0.0

    def __post_init__(self) -> None:
        require_shape("prior", self.prior, (None,))
        require_range("prior", self.prior, np.finfo(np.float64).tiny, 1)
        if not self.tau >= 0:
            raise ValueError(f"tau must be at least 0, got {self.tau}")


@dataclass(frozen=True)
class Named:
    """What the machine names in N cases, and by how much the expert is ahead.

    classes (N,); confidence (N,): the probability of that class; margin (N,): the expert's score less that class's, on
    the scale of `Surrogate.probabilities`; deferred (N,) bool: where the margin is not below 0.
    """

    classes: Int[np.ndarray, " N"]
    confidence: Float64[np.ndarray, " N"]
    margin: Float64[np.ndarray, " N"]
    deferred: np.ndarray


def name_classes(logits: np.ndarray, surrogate: str, adjustment: Adjustment | None = None) -> Named:
    """The classes named from logits (N, K+1) of one expert; without an adjustment those of the highest score.

    ValueError on an unknown surrogate or a prior of other classes.
    """
    require_known("surrogate", surrogate, SURROGATES)
    known, raw = SURROGATES[surrogate], as_tensor(logits)
    scores, share = known.probabilities(raw).numpy(), known.class_probability(raw).numpy()
    rows, weighed = np.arange(len(scores)), np.asarray(logits[:, :-1], dtype=np.float64)
    if adjustment is not None and adjustment.tau > 0:
        require_shape("prior", adjustment.prior, (share.shape[1],))
        with np.errstate(divide="ignore"):
            weighed = np.log(scores[:, :-1]) - adjustment.tau * np.log(adjustment.prior)
    classes = weighed.argmax(axis=1)
    margin = scores[:, -1] - scores[rows, classes]
    # Where both round to the same number, the logits still say which is more.
    deferred = (margin > 0) | ((margin == 0) & (logits[:, -1] >= logits[rows, classes]))
    return Named(classes, share[rows, classes], margin, deferred)


def tau_curve(scores: Scores, prior: np.ndarray, taus: np.ndarray, recall_of: int) -> pd.DataFrame:
    """One row per tau: what it does to the machine and to the system on these cases.

    scores of one expert; prior (K,); taus (T,); recall_of: the class of most concern. Columns: tau; machine and
    balanced (accuracy, and its mean over the classes that occur) of the machine alone; recall of that class; deferred;
    system, balanced_system and system_recall, with deferred cases answered by the expert.
    """
    rows = []
    for tau in taus:
        named = name_classes(scores.logits, scores.surrogate, Adjustment(prior, float(tau)))
        machine = named.classes == scores.labels
        system = np.where(named.deferred, scores.expert_correct[:, 0], machine)
        own, both = (_by_class(right, scores.labels, recall_of) for right in (machine, system))
        rows.append((float(tau), *own, float(named.deferred.mean()), *both))
    names = ("tau", "machine", "balanced", "recall", "deferred", "system", "balanced_system", "system_recall")
    return pd.DataFrame(rows, columns=list(names))


def _by_class(right: np.ndarray, labels: np.ndarray, recall_of: int) -> tuple[float, float, float]:
    """Accuracy, its mean over the classes that occur, and that of one class (NaN where it does not)."""
    recalls = {label: float(right[labels == label].mean()) for label in np.unique(labels)}
    return float(right.mean()), float(np.mean(list(recalls.values()))), recalls.get(recall_of, float("nan"))


def choose_taus(validation: pd.DataFrame, most_lost: float = 0.02) -> dict[str, float]:
    """Marks on a curve of validation cases: "accurate", "cheap" and "balanced".

    The tau of the machine's highest accuracy, the smallest of equals; the largest that loses at most most_lost of it;
    and the tau of its highest balanced accuracy, the smallest of equals.
    """
    best = validation["machine"].max()
    cheap = validation.loc[validation["machine"] >= best - most_lost, "tau"].max()
    places = {name: validation[column].idxmax() for name, column in (("accurate", "machine"), ("balanced", "balanced"))}
    taus = {name: float(validation.loc[place, "tau"]) for name, place in places.items()}
    return {"accurate": taus["accurate"], "cheap": float(cheap), "balanced": taus["balanced"]}
