"""Systems side by side on the same test cases, at one price of asking and one budget."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from l2d_core.calibration import binned
from l2d_core.common.arrays import as_flags
from l2d_core.common.checks import require_range
from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.systems import System, scores_of
from l2d_core.evaluation import measures
from l2d_core.evaluation.accuracy import Share, clip_probability, expert_probability
from l2d_core.evaluation.by_class import class_table
from l2d_core.evaluation.curves import accuracy_columns, coverage_columns, optimal_columns, random_columns, read_at
from l2d_core.evaluation.deferral import best_expert, defer_margin, deferral_order, num_within_budget
from l2d_core.evaluation.recalibration import Recalibration, fit_recalibration, raw
from l2d_core.surrogates import SURROGATES

SHARES = np.linspace(0, 1, 101)  # coverages and budgets at which curves are read


@dataclass(frozen=True)
class Seen:
    """A system's test cases through one estimator, as it is or recalibrated; (N,) each.

    probability: that the expert is right, raw; confidence: that of the machine's class; gain: what asking gains before
    its price, the probability by which the system decides less the confidence; order: the rows, the largest gain
    first. machine_class, machine_right and expert_class are None for logged outputs, which come without labels.
    """

    system: System
    estimator: str
    recalibration: Recalibration
    probability: np.ndarray
    confidence: np.ndarray
    expert_right: np.ndarray
    gain: np.ndarray
    order: np.ndarray
    machine_class: np.ndarray | None = None
    machine_right: np.ndarray | None = None
    expert_class: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.gain)


def look(system: System, *, estimator: str | None = None, recalibration: str = "none") -> Seen:
    """The test cases of a system, through an estimator (by default its surrogate's first) and a recalibration.

    A system decides by its surrogate's first estimator, which at no price is the rule of its loss, or by what is
    recalibrated. ValueError on an unknown name, or a recalibration without validation scores.
    """
    if isinstance(system.test, LoggedOutputs):
        return _look_at_logged(system, system.test, estimator, recalibration)
    scores = system.test
    estimator = estimator or next(iter(SURROGATES[scores.surrogate].estimators))
    correction = _correction(system, scores.surrogate, estimator, recalibration)
    expert = best_expert(scores.logits, scores.num_experts)
    rows = np.arange(len(scores))
    machine_class = scores.logits[:, : scores.num_classes].argmax(axis=1)
    expert_class = scores.answers[rows, expert]
    confidence = _confidence(scores.logits, scores.surrogate, scores.num_experts)
    probability = correction.apply(scores.logits, scores.num_experts)[rows, expert]
    if recalibration == "none":
        decides_by = expert_probability(scores)[rows, expert]
        gain = _with_sign(decides_by - confidence, defer_margin(scores.logits, scores.num_experts))
    else:
        gain = probability - confidence
    return Seen(
        system=system,
        estimator=estimator,
        recalibration=correction,
        probability=probability,
        confidence=confidence,
        expert_right=expert_class == scores.labels,
        gain=gain,
        order=deferral_order(gain),
        machine_class=machine_class,
        machine_right=machine_class == scores.labels,
        expert_class=expert_class,
    )


def decide(seen: Seen, *, cost: float = 0.0, budget: float = 1.0) -> np.ndarray:
    """Which cases go to the expert, (N,) bool: where the gain is at least the price, the largest first, in the budget.

    At most floor(budget N); in a tie the lower row. At cost 0 and budget 1, without recalibration, these are the cases
    of `deferral.defer_by_argmax`. cost in 0..1, in right answers; budget in 0..1. ValueError outside.
    """
    require_range("cost", np.asarray(cost, dtype=np.float64), 0, 1)
    wanted = int(np.count_nonzero(seen.gain >= cost))
    deferred = np.zeros(len(seen), dtype=bool)
    deferred[seen.order[: min(wanted, num_within_budget(budget, len(seen)))]] = True
    return deferred


def key_numbers(
    seen: Seen, deferred: np.ndarray, *, cost: float = 0.0, bins: int = 15, strategy: str = "equal_width"
) -> dict[str, Share]:
    """The numbers of `evaluation.accuracies` at one point, the ECE, and value: system accuracy - cost x share asked.

    What would need labels has the value None for logged outputs. ValueError on a wrong shape or type.
    """
    deferred = as_flags("deferred", deferred, len(seen))
    expert = seen.expert_right
    ece = binned.calibration_error(clip_probability(seen.probability), expert, bins=bins, strategy=strategy)
    numbers = {
        "ece": Share(ece, len(seen)),
        "coverage": Share.of(~deferred),
        "expert_alone": Share.of(expert),
        "expert_on_deferred": Share.of(expert[deferred]),
    }
    if seen.machine_right is None:
        unknown = ("system", "machine_alone", "machine_on_kept", "value")
        return numbers | dict.fromkeys(unknown, Share(None, 0))
    right = np.where(deferred, expert, seen.machine_right)
    return numbers | {
        "system": Share.of(right),
        "machine_alone": Share.of(seen.machine_right),
        "machine_on_kept": Share.of(seen.machine_right[~deferred]),
        "value": Share(float(right.mean() - cost * deferred.mean()), len(seen)),
    }


def reliability(seen: Seen, *, bins: int = 15, strategy: str = "equal_width") -> pd.DataFrame:
    """`calibration.reliability_table` of the estimates, those above 1 as 1; `cases`, `cases_right` count each bin's."""
    table = binned.reliability_table(
        clip_probability(seen.probability), seen.expert_right, bins=bins, strategy=strategy
    )
    table["cases"] = table["n"].astype(float)
    table["cases_right"] = table["cases"] * table["share_correct"].fillna(0)
    return table


def risk_histogram(seen: Seen) -> pd.DataFrame:
    """`comparison.risk_histogram` of the risk of asking, 1 - probability, raw: risks below 0 are in no bin."""
    return measures.risk_histogram(1 - seen.probability)


def coverage_curve(seen: Seen) -> pd.DataFrame:
    """Accuracy at 101 coverages, the case of the largest gain deferred first.

    Columns coverage, system_accuracy, machine_accuracy (on the kept; NaN at 0), optimal, random (system accuracy by the
    best and by a chance choice of what to defer). ValueError for logged outputs.
    """
    machine = _machine_right(seen)
    columns, _ = coverage_columns(seen.gain, machine, seen.expert_right)
    own = read_at(columns, SHARES)
    references = {
        "optimal": optimal_columns(machine, seen.expert_right),
        "random": random_columns(machine, seen.expert_right),
    }
    return pd.DataFrame(
        {
            "coverage": SHARES,
            "system_accuracy": own["system_accuracy"],
            "machine_accuracy": own["machine_accuracy"],
            **{name: read_at(points, SHARES)["system_accuracy"] for name, points in references.items()},
        }
    )


def budget_curve(seen: Seen, *, cost: float = 0.0) -> pd.DataFrame:
    """Accuracy at 101 budgets, decided as by `decide`: budget, coverage, system_accuracy, value (less the price).

    ValueError for logged outputs, or a cost outside 0..1.
    """
    require_range("cost", np.asarray(cost, dtype=np.float64), 0, 1)
    wanted = int(np.count_nonzero(seen.gain >= cost))
    n_deferred = np.array([min(num_within_budget(budget, len(seen)), wanted) for budget in SHARES])
    kept_first = seen.order[::-1]
    columns = accuracy_columns(_machine_right(seen)[kept_first], seen.expert_right[kept_first], len(seen) - n_deferred)
    value = columns["system_accuracy"] - cost * n_deferred / len(seen)
    picked = {name: columns[name] for name in ("coverage", "system_accuracy")}
    return pd.DataFrame({"budget": SHARES, **picked, "value": value})


def confusion(seen: Seen, deferred: np.ndarray) -> pd.DataFrame:
    """Who is right with whom: four rows of machine_right, expert_right, with n and n_deferred.

    ValueError for logged outputs, or on a wrong shape or type.
    """
    deferred, machine = as_flags("deferred", deferred, len(seen)), _machine_right(seen)
    cell = 2 * machine + seen.expert_right
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    n, n_deferred = np.bincount(cell, minlength=4), np.bincount(cell[deferred], minlength=4)
    rows = [(one, other, n[2 * one + other], n_deferred[2 * one + other]) for one, other in pairs]
    return pd.DataFrame(rows, columns=["machine_right", "expert_right", "n", "n_deferred"])


def classes(seen: Seen, deferred: np.ndarray) -> pd.DataFrame:
    """`by_class.class_table` at one point. ValueError for logged outputs, or on a wrong shape or type."""
    _machine_right(seen)
    return class_table(scores_of(seen.system), deferred)


def cases(seen: Seen, deferred: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
    """What there is to say of some cases: id, label, machine, confidence, expert, probability, deferred, gain.

    rows (M,): which, as whole numbers, in the order wanted. The classes are names; for logged outputs they are None,
    and id is the row's number. ValueError on rows out of range, or a wrong shape or type.
    """
    deferred, rows = as_flags("deferred", deferred, len(seen)), np.asarray(rows, dtype=np.int64)
    require_range("rows", rows, 0, len(seen) - 1)
    scores = seen.system.test
    if isinstance(scores, LoggedOutputs):
        named = {"id": rows.astype(str), **dict.fromkeys(("label", "machine", "expert"))}
    else:
        names = np.asarray(scores.class_names, dtype=object)
        picks = {"label": scores.labels, "machine": seen.machine_class, "expert": seen.expert_class}
        named = {"id": scores.ids[rows], **{key: names[np.asarray(which)[rows]] for key, which in picks.items()}}
    numbers = {"confidence": seen.confidence, "probability": seen.probability, "deferred": deferred, "gain": seen.gain}
    columns = named | {name: values[rows] for name, values in numbers.items()}
    order = ["id", "label", "machine", "confidence", "expert", "probability", "deferred", "gain"]
    return pd.DataFrame(columns, index=range(len(rows)), columns=order)


def _correction(system: System, surrogate: str, estimator: str, method: str) -> Recalibration:
    if method == "none":
        return raw(surrogate, estimator)
    if system.validation is None:
        raise ValueError(f"{system.name} has no validation scores, and a recalibration is fitted on these")
    return fit_recalibration(method, system.validation, estimator)


def _look_at_logged(system: System, logged: LoggedOutputs, estimator: str | None, recalibration: str) -> Seen:
    estimator = estimator or next(iter(SURROGATES[logged.surrogate].estimators))
    correction = _correction(system, logged.surrogate, estimator, recalibration)
    confidence = _confidence(logged.logits, logged.surrogate, 1)
    first = logged.expert_probability(next(iter(SURROGATES[logged.surrogate].estimators)))
    probability = correction.apply(logged.logits)[:, 0]
    gain = _with_sign(first - confidence, defer_margin(logged.logits))
    return Seen(
        system, estimator, correction, probability, confidence, logged.expert_correct, gain, deferral_order(gain)
    )


def _confidence(logits: np.ndarray, surrogate: str, num_experts: int) -> np.ndarray:
    numbers = torch.from_numpy(np.array(logits, dtype=np.float64))
    return SURROGATES[surrogate].class_probability(numbers, num_experts).numpy().max(axis=1)


def _with_sign(gain: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """The gain, with the sign of the margin where rounding took it: at a tie, or where both saturate."""
    return np.where(margin >= 0, np.maximum(gain, 0), np.minimum(gain, -np.finfo(np.float64).tiny))


def _machine_right(seen: Seen) -> np.ndarray:
    if seen.machine_right is None:
        raise ValueError(f"{seen.system.name} comes without labels: whether the machine is right is not known")
    return seen.machine_right
