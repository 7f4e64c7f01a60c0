"""How well a system of machine and expert does: who is right, on which cases, and at which coverage.

A deferred case goes to the expert of the highest score, `deferral.best_expert`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float64

from l2d_core.common.arrays import ArrayLike, as_flags, as_floats
from l2d_core.common.checks import require_known, require_range
from l2d_core.data import Scores
from l2d_core.evaluation.curves import accuracy_columns, coverage_columns, optimal_columns, random_columns, read_at
from l2d_core.evaluation.deferral import best_expert, defer_margin, deferral_order, num_within_budget
from l2d_core.surrogates import SURROGATES

_SATURATED = 1e-300  # less than all that probabilities differ by otherwise


@dataclass(frozen=True)
class Share:
    """A share of n cases, in 0..1; None where n is 0."""

    value: float | None
    n: int

    @classmethod
    def of(cls, flags: np.ndarray) -> "Share":
        """The share of True among flags (n,)."""
        return cls(float(flags.mean()) if len(flags) else None, len(flags))


def expert_probability(scores: Scores, estimator: str | None = None) -> Float64[np.ndarray, "N J"]:
    """The estimates of P(an expert is right given x), raw: above 1 where the estimator is unbounded.

    estimator: a name in the surrogate's `estimators`, by default the first. Returns (N, J).
    ValueError on an unknown surrogate or estimator.
    """
    require_known("surrogate", scores.surrogate, SURROGATES)
    estimators = SURROGATES[scores.surrogate].estimators
    name = next(iter(estimators)) if estimator is None else estimator
    require_known("estimator", name, estimators)
    return estimators[name](_logits(scores), scores.num_experts).numpy()


def clip_probability(probability: ArrayLike) -> np.ndarray:
    """The estimates with all above 1 set to 1, as calibration wants them; `share_above_one` says how many.

    probability (N,) or (N, J), at least 0; returns the same shape. ValueError on NaN or a value below 0.
    """
    probability = np.asarray(probability, dtype=np.float64)
    require_range("probability", probability, 0, np.inf)
    return np.minimum(probability, 1)


def share_above_one(probability: ArrayLike, deferred: ArrayLike) -> dict[str, Share]:
    """Which share of the estimates is above 1: of "all" cases, and of the "deferred" ones.

    probability (N,), raw estimates for one expert; deferred (N,) bool. ValueError on NaN, shape or type.
    """
    above = as_floats("probability", probability) > 1
    return {"all": Share.of(above), "deferred": Share.of(above[as_flags("deferred", deferred, len(above))])}


def expert_pairs(
    scores: Scores, estimator: str | None = None, expert: int = 0
) -> tuple[Float64[np.ndarray, " M"], Bool[np.ndarray, " M"]]:
    """What `calibration` takes, for one expert: its probability, clipped, and whether it was right.

    Only the M cases in which it was asked. ValueError on an unknown surrogate, estimator or expert.
    """
    if not 0 <= expert < scores.num_experts:
        raise ValueError(f"expert must lie in 0..{scores.num_experts - 1}, got {expert!r}")
    asked = scores.answers[:, expert] >= 0
    probability = expert_probability(scores, estimator)[asked, expert]
    return clip_probability(probability), scores.expert_correct[asked, expert]


def classifier_pairs(scores: Scores) -> tuple[Float64[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """What `calibration` takes, for the machine: its confidence, and whether it was right.

    The confidence is the top class's probability, in all N cases, deferred or not.
    ValueError on an unknown surrogate.
    """
    require_known("surrogate", scores.surrogate, SURROGATES)
    probability = SURROGATES[scores.surrogate].class_probability(_logits(scores), scores.num_experts).numpy()
    return clip_probability(probability.max(axis=1)), machine_is_right(scores)


def margin_of_scores(scores: Scores) -> Float64[np.ndarray, " N"]:
    """How much better asking looks than answering, on the scale of the surrogate's own probabilities.

    max_j q_{K+j} - max_k q_k, q = `Surrogate.probabilities`: for softmax p_d - max_k p_k, by which the paper sorts.
    Its sign is that of the logits' margin, but the order of the cases is not: another scale would draw other
    coverage and budget curves through the same operating point. ValueError on an unknown surrogate.
    Source: Verma and Nalisnick 2022.
    """
    require_known("surrogate", scores.surrogate, SURROGATES)
    probabilities = SURROGATES[scores.surrogate].probabilities(_logits(scores), scores.num_experts)
    margin = defer_margin(probabilities.numpy(), scores.num_experts)
    # Where rounding makes both probabilities 1, or 0, the logits still say which is more, and by how much.
    exact = defer_margin(scores.logits, scores.num_experts)
    return np.where(margin == 0, _SATURATED * exact / (1 + np.abs(exact)), margin)


def accuracies(scores: Scores, deferred: ArrayLike) -> dict[str, Share]:
    """Who is right how often, each with the number of cases that it is a share of.

    system: all cases, the deferred ones answered by the expert, the others by the machine;
    machine_on_kept, expert_on_deferred: each on its own cases; machine_alone: all cases; expert_alone: all
    cases in which the expert was asked; coverage: the share that the machine keeps.

    deferred (N,) bool. ValueError on a wrong shape or type, or on a deferred case without an answer.
    """
    deferred = as_flags("deferred", deferred, len(scores))
    machine = machine_is_right(scores)
    expert, asked = _expert_correct(scores, needed=deferred)
    return {
        "system": Share.of(np.where(deferred, expert, machine)),
        "machine_on_kept": Share.of(machine[~deferred]),
        "expert_on_deferred": Share.of(expert[deferred]),
        "machine_alone": Share.of(machine),
        "expert_alone": Share.of(expert[asked]),
        "coverage": Share.of(~deferred),
    }


def coverage_curve(scores: Scores, margin: ArrayLike) -> pd.DataFrame:
    """Accuracy against coverage, over all cases, from all deferred to none; the largest margin is kept last.

    One row for each threshold that changes who decides: the cases with margin >= threshold are deferred, so
    that equal margins stay together. The last threshold is the next number above the largest margin. Columns:
    coverage, threshold, n_kept, system_accuracy, machine_accuracy (on the kept), expert_accuracy (on the
    deferred); the last two are NaN where they would be over 0 cases.

    margin (N,), larger = defer sooner. ValueError on NaN, a wrong shape, or where an answer is missing.
    """
    columns, threshold = coverage_columns(as_floats("margin", margin, (len(scores),)), *_who_is_right(scores))
    table = pd.DataFrame(columns)
    table.insert(1, "threshold", threshold)
    return table


def budget_curve(scores: Scores, margin: ArrayLike, budgets: ArrayLike, *, forced: bool) -> pd.DataFrame:
    """Accuracy against the budget: one row a budget, decided as by `deferral.defer_by_budget`.

    Columns: budget, coverage, n_kept, system_accuracy, machine_accuracy (on the kept), expert_accuracy (on
    the deferred); the last two are NaN where they would be over 0 cases.

    margin (N,); budgets (B,) in 0..1, in any order. ValueError on NaN, a wrong shape, a budget out of range,
    or a case without an expert's answer that the largest budget defers.
    """
    margin = as_floats("margin", margin, (len(scores),))
    budgets = as_floats("budgets", budgets)
    most = len(margin) if forced else np.count_nonzero(margin > 0)
    n_deferred = np.array([min(num_within_budget(b, len(margin)), most) for b in budgets], dtype=np.int64)
    order = deferral_order(margin)
    needed = np.zeros(len(margin), dtype=bool)
    needed[order[: n_deferred.max(initial=0)]] = True
    expert, _ = _expert_correct(scores, needed=needed)
    kept_first = order[::-1]
    columns = accuracy_columns(machine_is_right(scores)[kept_first], expert[kept_first], len(margin) - n_deferred)
    return pd.DataFrame({"budget": budgets, **columns})


def optimal_curve(scores: Scores) -> pd.DataFrame:
    """The best system accuracy at each coverage, by a rule that knows which side is right.

    It keeps first what only the machine gets right, then what both or neither do, then what only the expert
    does. Columns coverage, system_accuracy; straight lines between the rows.
    ValueError where an answer is missing.
    """
    return pd.DataFrame(optimal_columns(*_who_is_right(scores)))


def random_curve(scores: Scores) -> pd.DataFrame:
    """The expected system accuracy at each coverage, where chance picks who decides.

    A straight line from the expert alone to the machine alone. Columns coverage, system_accuracy; two rows.
    ValueError where an answer is missing.
    """
    return pd.DataFrame(random_columns(*_who_is_right(scores)))


def curves_at(scores: Scores, margin: ArrayLike, coverages: ArrayLike) -> dict[str, np.ndarray]:
    """`coverage_curve`, `optimal_curve` and `random_curve` at given coverages, as `curve_at` reads them.

    Returns system_accuracy, machine_accuracy, optimal and random, (M,) each; the last two are system accuracies.
    The same numbers without a table in between, for callers that are in a hurry. Errors as of these.
    """
    coverages = as_floats("coverages", coverages)
    require_range("coverages", coverages, 0, 1)
    machine, expert = _who_is_right(scores)
    own = read_at(coverage_columns(as_floats("margin", margin, (len(scores),)), machine, expert)[0], coverages)
    references = {"optimal": optimal_columns(machine, expert), "random": random_columns(machine, expert)}
    return {
        "system_accuracy": own["system_accuracy"],
        "machine_accuracy": own["machine_accuracy"],
        **{name: read_at(columns, coverages)["system_accuracy"] for name, columns in references.items()},
    }


def curve_at(curve: pd.DataFrame, coverages: ArrayLike) -> pd.DataFrame:
    """A curve read at given coverages, so that curves of several seeds can be averaged.

    Between two rows the numbers of right and of kept cases run in straight lines: that is what splitting the
    cases between them at random gives on average. Columns: coverage, and those of system_accuracy,
    machine_accuracy and expert_accuracy that the curve has; NaN where they would be over 0 cases.

    curve: from `coverage_curve`, `optimal_curve` or `random_curve`; coverages (M,) in 0..1.
    ValueError on a curve that does not run from coverage 0 to 1, or a coverage out of range.
    """
    coverages = as_floats("coverages", coverages)
    require_range("coverages", coverages, 0, 1)
    _coverage_axis(curve)
    return pd.DataFrame(read_at({name: curve[name].to_numpy(np.float64) for name in curve.columns}, coverages))


def area_under_curve(curve: pd.DataFrame) -> float:
    """The area under system accuracy against coverage (AC-AUC): the mean system accuracy over all coverages.

    By trapezoids, which is exact under `curve_at`'s rule. curve: as there; ValueError on others.
    """
    accuracy = curve["system_accuracy"].to_numpy(np.float64)
    return float(np.sum(np.diff(_coverage_axis(curve)) * (accuracy[1:] + accuracy[:-1]) / 2))


def risk_distance(predicted_risk: ArrayLike, true_risk: ArrayLike) -> float:
    """How far the distribution of the predicted risk lies from that of the true one: Wasserstein-1, in 0..1.

    The integral over t of |P(predicted <= t) - P(true <= t)|. Risk is 1 - expert_probability, clipped first.

    predicted_risk (N,) and true_risk (M,), in 0..1; ValueError on no cases, NaN, or a value outside.
    """
    predicted, true = _sorted_risk("predicted_risk", predicted_risk), _sorted_risk("true_risk", true_risk)
    points = np.sort(np.concatenate([predicted, true]))
    # Both distributions are constant between neighbouring points.
    up_to = [np.searchsorted(risk, points[:-1], side="right") / len(risk) for risk in (predicted, true)]
    return float(np.sum(np.diff(points) * np.abs(up_to[0] - up_to[1])))


def _sorted_risk(name: str, risk: ArrayLike) -> np.ndarray:
    risk = as_floats(name, risk)
    if len(risk) == 0:
        raise ValueError(f"{name} must hold at least one case, got 0")
    require_range(name, risk, 0, 1)
    return np.sort(risk)


def _logits(scores: Scores) -> torch.Tensor:
    return torch.from_numpy(np.array(scores.logits, dtype=np.float64))


def _expert_correct(scores: Scores, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether the expert that a deferred case goes to is right, and whether it was asked; (N,) bool each."""
    expert = best_expert(scores.logits, scores.num_experts)
    answers = scores.answers[np.arange(len(scores)), expert]
    missing = needed & (answers < 0)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(
            f"answers must hold what {scores.expert_names[expert[row]]!r} said in every deferred case, "
            f"got -1 (not asked) at row {row} ({scores.ids[row]})"
        )
    return answers == scores.labels, answers >= 0


def machine_is_right(scores: Scores) -> Bool[np.ndarray, " N"]:
    """Whether the machine names the true class, (N,), in all cases, deferred or not."""
    return scores.logits[:, : scores.num_classes].argmax(axis=1) == scores.labels


def expert_is_right(scores: Scores) -> Bool[np.ndarray, " N"]:
    """Whether the expert that a case would go to names the true class, (N,); ValueError where one has not answered."""
    return _expert_correct(scores, needed=np.ones(len(scores), dtype=bool))[0]


def _who_is_right(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    return machine_is_right(scores), expert_is_right(scores)


def _coverage_axis(curve: pd.DataFrame) -> np.ndarray:
    coverage = curve["coverage"].to_numpy(np.float64)
    if coverage[0] != 0 or coverage[-1] != 1 or (np.diff(coverage) <= 0).any():
        raise ValueError("the curve's coverage must rise from 0 to 1; a budget curve cannot be read by coverage")
    return coverage
