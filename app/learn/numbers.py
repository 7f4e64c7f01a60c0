"""The numbers of the lesson, computed when they are shown: from shipped runs, from a draw, or from a formula."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from l2d_core.calibration import binned
from l2d_core.calibration.brier import BrierDecomposition, brier_decomposition
from l2d_core.calibration.intervals import wilson_interval
from l2d_core.common.paths import PRETRAINED
from l2d_core.comparison import estimates
from l2d_core.comparison.systems import System
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.deferral import defer_by_argmax, num_within_budget
from l2d_core.evaluation.estimator_view import EstimatorView, coverage_curve, reliability_of
from l2d_core.evaluation.probabilities import expert_pairs, expert_probability
from l2d_core.runs.folder import open_run

PHOTOS = PRETRAINED / "runs" / "cifar10-one_vs_all"
PHOTOS_SOFTMAX = PRETRAINED / "runs" / "cifar10-softmax"
LESIONS = {
    "softmax": PRETRAINED / "ham10000" / "ham10000-softmax",
    "one_vs_all": PRETRAINED / "ham10000" / "ham10000-one_vs_all",
}


@cache
def shipped(folder: Path) -> EstimatorView:
    """The test cases of a shipped run; ValueError or FileNotFoundError where it cannot be read."""
    run = open_run(folder)
    return estimates.view_system(System(folder.name, run.test, run.validation, "shipped"))


@dataclass(frozen=True)
class Team:
    """Accuracies when a share is deferred: on all cases, on the deferred ones, on the machine's errors."""

    system: Statistic
    machine: Statistic
    expert: Statistic
    deferred: Statistic
    machine_on_deferred: Statistic
    expert_on_deferred: Statistic
    expert_on_machine_errors: Statistic


def team(view: EstimatorView, share: float) -> Team:
    """The accuracies when this share (0..1) of the cases is deferred, those that gain most first."""
    deferred = np.zeros(len(view), dtype=bool)
    deferred[view.order[: num_within_budget(share, len(view))]] = True
    machine, expert = view.machine_correct, view.expert_correct
    return Team(
        system=Statistic.mean_of(np.where(deferred, expert, machine)),
        machine=Statistic.mean_of(machine),
        expert=Statistic.mean_of(expert),
        deferred=Statistic.mean_of(deferred),
        machine_on_deferred=Statistic.mean_of(machine[deferred]),
        expert_on_deferred=Statistic.mean_of(expert[deferred]),
        expert_on_machine_errors=Statistic.mean_of(expert[~machine]),
    )


def own_choice(view: EstimatorView) -> float:
    """The share that the system defers by its own rule."""
    return float(estimates.decide(view).mean())


def team_curve(view: EstimatorView) -> pd.DataFrame:
    """System accuracy at 101 shares deferred: columns deferred, accuracy."""
    curve = coverage_curve(view)
    return pd.DataFrame({"deferred": 1 - curve["coverage"], "accuracy": curve["system_accuracy"]})


@dataclass(frozen=True)
class Forecast:
    """A made-up forecaster: its estimates and the outcomes, (N,) each."""

    said: np.ndarray
    came_true: np.ndarray

    def reliability(self, bins: int) -> pd.DataFrame:
        """Its table of `estimator_view.reliability_of`."""
        return reliability_of(self.said, self.came_true, bins=bins)

    @property
    def above_one(self) -> pd.DataFrame:
        """Empty: its estimates are probabilities."""
        return pd.DataFrame(columns=["share_correct", "cases", "cases_right"], dtype=float)

    def error(self, bins: int) -> float:
        """Its ECE, in bins of equal width."""
        return binned.calibration_error(self.said, self.came_true, bins=bins)

    def error_by_chance(self, bins: int) -> float:
        """Its mean ECE if every probability were correct."""
        return binned.calibration_error_by_chance(self.said, bins=bins)


def forecast(num_cases: int, boldness: float, seed: int) -> Forecast:
    """Draw a forecaster that knows the probabilities and reports their log-odds times `boldness`; 1 is honest.

    The true probabilities are spread as Beta(2.4, 1.2), most of them high.
    """
    rng = np.random.default_rng(seed)
    true = rng.beta(2.4, 1.2, num_cases)
    return Forecast(special.expit(boldness * special.logit(true)), rng.random(num_cases) < true)


@dataclass(frozen=True)
class Optimum:
    """The optimum of the softmax loss for one case with two classes: the shares of the classes and of deferring."""

    classes: tuple[float, float]
    defer: float


def softmax_optimum(first_class: float, expert_right: float) -> Optimum:
    """p_k = P(y = k | x) / (1 + P), p_d = P / (1 + P), P = P(the expert is right | x)."""
    scale = 1 + expert_right
    return Optimum((first_class / scale, (1 - first_class) / scale), expert_right / scale)


def odds_after(expert_right: float, slip: float | np.ndarray) -> np.ndarray:
    """The odds' estimate when the deferral logit is off by `slip`: P e^slip, without an upper bound."""
    return expert_right * np.exp(slip)


def sigmoid_after(expert_right: float, slip: float | np.ndarray) -> np.ndarray:
    """One-vs-all's estimate when its deferral logit is off by `slip`: sigmoid(logit P + slip), at most 1."""
    return special.expit(special.logit(np.clip(expert_right, 1e-9, 1 - 1e-9)) + slip)


def proxy(expert_right: float | np.ndarray) -> np.ndarray:
    """The proxy's estimate at the optimum for an expert who is right with probability P: P / (1 + P)."""
    return np.asarray(expert_right) / (1 + np.asarray(expert_right))


@cache
def highest_proxy() -> float:
    """The highest estimate of the shipped softmax network's proxy on the test photographs."""
    return float(expert_probability(open_run(PHOTOS_SOFTMAX).test, "proxy").max())


@dataclass(frozen=True)
class Grouped:
    """An estimate that is constant within each of some groups of cases. said: one row per group."""

    groups: int
    error: float
    decomposition: BrierDecomposition
    system: Statistic
    said: np.ndarray


@cache
def grouped(groups: int) -> Grouped:
    """One-vs-all's estimate on the photographs, made coarse: the validation cases in groups of equal size by estimate,
    and of each group the share in which the expert was right. The fewer groups, the less it knows; it stays calibrated.
    """
    run = open_run(PHOTOS)
    held_out, held_out_right = expert_pairs(run.validation)
    estimate, right = expert_pairs(run.test)
    edges = np.quantile(held_out, np.arange(1, groups) / groups)
    own, new = np.searchsorted(edges, held_out), np.searchsorted(edges, estimate)
    shares = np.bincount(own, held_out_right, groups) / np.maximum(np.bincount(own, minlength=groups), 1)
    said = shares[new]
    view = shipped(PHOTOS)
    deferred = said >= view.confidence
    return Grouped(
        groups=groups,
        error=binned.calibration_error(said, right),
        decomposition=brier_decomposition(said, right),
        system=Statistic.mean_of(np.where(deferred, view.expert_correct, view.machine_correct)),
        said=shares,
    )


@dataclass(frozen=True)
class Understated:
    """The cases with a predicted risk of at most some share: how many, their mean predicted and their true risk."""

    n: int
    said: float | None
    true: float | None
    low: float | None
    high: float | None


def understated(most_risk: float) -> Mapping[str, Understated]:
    """By surrogate: predicted and true risk of the lesions with a predicted risk of deferring of at most this."""
    found = {}
    for name, folder in LESIONS.items():
        view = shipped(folder)
        risk = 1 - np.minimum(view.probability, 1)
        chosen = risk <= most_risk
        n = int(chosen.sum())
        if n == 0:
            found[name] = Understated(0, None, None, None, None)
            continue
        wrong = float((~view.expert_correct[chosen]).mean())
        low, high = (float(end[0]) for end in wilson_interval([wrong], [n]))
        found[name] = Understated(n, float(risk[chosen].mean()), wrong, low, high)
    return found


def share_handed_over(scores: Sequence[Scores], class_names: tuple[str, ...]) -> pd.DataFrame:
    """The share of each class's test cases that is deferred, mean over seeds: columns class, n, share."""
    deferred = np.mean([defer_by_argmax(one.logits, one.num_experts) for one in scores], axis=0)
    labels = scores[0].labels
    n = np.bincount(labels, minlength=len(class_names))
    share = np.bincount(labels, deferred, len(class_names)) / np.maximum(n, 1)
    return pd.DataFrame({"class": list(class_names), "n": n, "share": share})


def machine_alone(scores: Sequence[Scores], class_names: tuple[str, ...]) -> np.ndarray:
    """The machine's accuracy in each class, (K,), mean over seeds."""
    labels = scores[0].labels
    right = np.mean([one.logits[:, : one.num_classes].argmax(1) == one.labels for one in scores], axis=0)
    return np.bincount(labels, right, len(class_names)) / np.maximum(np.bincount(labels, minlength=len(class_names)), 1)
