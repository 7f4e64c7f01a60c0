"""The numbers of the lesson, each computed when it is shown: from shipped runs, from a draw, or from a formula."""

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
    """Who is right where a share is handed over; of all cases, of the handed over, of the machine's errors."""

    system: Statistic
    machine: Statistic
    expert: Statistic
    asked: Statistic
    machine_on_asked: Statistic
    expert_on_asked: Statistic
    expert_on_machine_errors: Statistic


def team(seen: EstimatorView, asked: float) -> Team:
    """The machine and the expert together, where the share `asked` (0..1) is handed over, what gains most first."""
    deferred = np.zeros(len(seen), dtype=bool)
    deferred[seen.order[: num_within_budget(asked, len(seen))]] = True
    machine, expert = seen.machine_correct, seen.expert_correct
    return Team(
        system=Statistic.mean_of(np.where(deferred, expert, machine)),
        machine=Statistic.mean_of(machine),
        expert=Statistic.mean_of(expert),
        asked=Statistic.mean_of(deferred),
        machine_on_asked=Statistic.mean_of(machine[deferred]),
        expert_on_asked=Statistic.mean_of(expert[deferred]),
        expert_on_machine_errors=Statistic.mean_of(expert[~machine]),
    )


def own_choice(seen: EstimatorView) -> float:
    """The share that the system hands over by itself."""
    return float(estimates.decide(seen).mean())


def team_curve(seen: EstimatorView) -> pd.DataFrame:
    """How often both together are right, at 101 shares handed over: asked, accuracy."""
    curve = coverage_curve(seen)
    return pd.DataFrame({"asked": 1 - curve["coverage"], "accuracy": curve["system_accuracy"]})


@dataclass(frozen=True)
class Forecast:
    """A forecaster that was made up: what it says, and what came true, (N,) each."""

    said: np.ndarray
    came_true: np.ndarray

    def reliability(self, bins: int) -> pd.DataFrame:
        """Its table of `estimator_view.reliability_of`."""
        return reliability_of(self.said, self.came_true, bins=bins)

    @property
    def above_one(self) -> pd.DataFrame:
        """No row: what it says is a probability."""
        return pd.DataFrame(columns=["share_correct", "cases", "cases_right"], dtype=float)

    def error(self, bins: int) -> float:
        """Its ECE, in bins of equal width."""
        return binned.calibration_error(self.said, self.came_true, bins=bins)

    def error_by_chance(self, bins: int) -> float:
        """The ECE that it would show on average if it were right about every probability."""
        return binned.calibration_error_by_chance(self.said, bins=bins)


def forecast(num_cases: int, boldness: float, seed: int) -> Forecast:
    """Draw a forecaster who knows the probabilities, and says them with log-odds times `boldness`: 1 is honest.

    The true probabilities are spread as Beta(2.4, 1.2), most of them high.
    """
    rng = np.random.default_rng(seed)
    true = rng.beta(2.4, 1.2, num_cases)
    return Forecast(special.expit(boldness * special.logit(true)), rng.random(num_cases) < true)


@dataclass(frozen=True)
class Optimum:
    """What the softmax loss aims at for one case with two classes: the classes' shares and the deferral's."""

    classes: tuple[float, float]
    defer: float


def softmax_optimum(first_class: float, expert_right: float) -> Optimum:
    """p_k = P(y = k | x) / (1 + P), p_d = P / (1 + P), P = P(the expert is right | x)."""
    scale = 1 + expert_right
    return Optimum((first_class / scale, (1 - first_class) / scale), expert_right / scale)


def odds_after(expert_right: float, slip: float | np.ndarray) -> np.ndarray:
    """What the odds say where the deferral's logit is off by `slip`: P e^slip, without an upper end."""
    return expert_right * np.exp(slip)


def sigmoid_after(expert_right: float, slip: float | np.ndarray) -> np.ndarray:
    """What one-vs-all says where its deferral logit is off by as much: sigmoid(logit P + slip), never above 1."""
    return special.expit(special.logit(np.clip(expert_right, 1e-9, 1 - 1e-9)) + slip)


def proxy(expert_right: float | np.ndarray) -> np.ndarray:
    """What the proxy says of an expert who is right with probability P, at the optimum: P / (1 + P)."""
    return np.asarray(expert_right) / (1 + np.asarray(expert_right))


@cache
def highest_proxy() -> float:
    """The highest that the shipped softmax network's proxy says of any test photograph."""
    return float(expert_probability(open_run(PHOTOS_SOFTMAX).test, "proxy").max())


@dataclass(frozen=True)
class Grouped:
    """An estimate that only knows in which of some groups a case lies. low, high, said: a row a group."""

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
    seen = shipped(PHOTOS)
    deferred = said >= seen.confidence
    return Grouped(
        groups=groups,
        error=binned.calibration_error(said, right),
        decomposition=brier_decomposition(said, right),
        system=Statistic.mean_of(np.where(deferred, seen.expert_correct, seen.machine_correct)),
        said=shares,
    )


@dataclass(frozen=True)
class Understated:
    """Of the cases whose risk is said to be at most some share: how many, the mean of what is said, what is true."""

    n: int
    said: float | None
    true: float | None
    low: float | None
    high: float | None


def understated(most_risk: float) -> Mapping[str, Understated]:
    """By surrogate: what is said and what is true of the lesions whose risk of asking is said to be at most that."""
    found = {}
    for name, folder in LESIONS.items():
        seen = shipped(folder)
        risk = 1 - np.minimum(seen.probability, 1)
        chosen = risk <= most_risk
        n = int(chosen.sum())
        if n == 0:
            found[name] = Understated(0, None, None, None, None)
            continue
        wrong = float((~seen.expert_correct[chosen]).mean())
        low, high = (float(end[0]) for end in wilson_interval([wrong], [n]))
        found[name] = Understated(n, float(risk[chosen].mean()), wrong, low, high)
    return found


def share_handed_over(scores: Sequence[Scores], class_names: tuple[str, ...]) -> pd.DataFrame:
    """Which share of each class's test cases goes to the expert, the mean over seeds: class, n, share."""
    deferred = np.mean([defer_by_argmax(one.logits, one.num_experts) for one in scores], axis=0)
    labels = scores[0].labels
    n = np.bincount(labels, minlength=len(class_names))
    share = np.bincount(labels, deferred, len(class_names)) / np.maximum(n, 1)
    return pd.DataFrame({"class": list(class_names), "n": n, "share": share})


def machine_alone(scores: Sequence[Scores], class_names: tuple[str, ...]) -> np.ndarray:
    """How often the machine alone is right in each class, (K,), the mean over seeds."""
    labels = scores[0].labels
    right = np.mean([one.logits[:, : one.num_classes].argmax(1) == one.labels for one in scores], axis=0)
    return np.bincount(labels, right, len(class_names)) / np.maximum(np.bincount(labels, minlength=len(class_names)), 1)
