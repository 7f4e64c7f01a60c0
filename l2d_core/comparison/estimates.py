"""Systems side by side on the same test cases, at one cost of asking and one budget."""

from dataclasses import replace

import numpy as np
import pandas as pd

from l2d_core.calibration import binned
from l2d_core.common.checks import as_flags, require_range
from l2d_core.comparison.systems import System
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic, accuracies_of_flags, as_shares
from l2d_core.evaluation.curves import budget_columns
from l2d_core.evaluation.deferral import num_within_budget, share_deferred
from l2d_core.evaluation.estimator_view import EstimatorView, view_scores
from l2d_core.evaluation.probabilities import clip_probability
from l2d_core.evaluation.recalibration import Recalibration, fit_recalibration, raw
from l2d_core.surrogates import SURROGATES

BUDGETS = np.linspace(0, 1, 101)


def view_system(system: System, *, estimator: str | None = None, recalibration: str = "none") -> EstimatorView:
    """The test cases of a system, through an estimator (by default its surrogate's first) and a recalibration.

    A system decides by its surrogate's first estimator, which at no cost is the rule of its loss, or by what is
    recalibrated; cases are ordered by the gain. ValueError on an unknown name, or a recalibration without validation
    scores.
    """
    test = system.test
    correction = _correction(system, estimator, recalibration)
    if isinstance(test, Scores):
        return replace(view_scores(test, estimator, correction), name=system.name)
    return EstimatorView(
        surrogate=test.surrogate,
        estimator=estimator or next(iter(SURROGATES[test.surrogate].estimators)),
        recalibration=correction,
        logits=test.logits,
        probability=correction.apply(test.logits)[:, 0],
        expert_correct=test.expert_correct,
        name=system.name,
    )


def decide(view: EstimatorView, *, cost: float = 0.0, budget: float = 1.0) -> np.ndarray:
    """Which cases go to the expert, (N,) bool: where the gain is at least the cost, the largest first, in the budget.

    At most floor(budget N); in a tie the lower row, so that numbers are better computed from `decide_in_shares`. At
    cost 0 and budget 1, without recalibration, these are the cases of `deferral.defer_by_argmax`. cost in 0..1, in
    right answers; budget in 0..1. ValueError outside.
    """
    deferred = np.zeros(len(view), dtype=bool)
    deferred[view.order[: _num_deferred(view, cost, budget)]] = True
    return deferred


def decide_in_shares(view: EstimatorView, *, cost: float = 0.0, budget: float = 1.0) -> np.ndarray:
    """The probability that `decide` defers each case, (N,), where the order within a tie is random. Errors as there."""
    return share_deferred(view.defer_margin, _num_deferred(view, cost, budget))


def _num_deferred(view: EstimatorView, cost: float, budget: float) -> int:
    require_range("cost", np.asarray(cost, dtype=np.float64), 0, 1)
    return min(int(np.count_nonzero(view.defer_margin >= cost)), num_within_budget(budget, len(view)))


def key_numbers(
    view: EstimatorView, deferred: np.ndarray, *, cost: float = 0.0, bins: int = 15, strategy: str = "equal_width"
) -> dict[str, Statistic]:
    """The numbers of `evaluation.accuracies` at one point, the calibration errors, and value: system accuracy less
    cost x share deferred.

    deferred (N,): bool, or shares from `decide_in_shares`. What would need labels has the value None for logged
    outputs. ValueError on a wrong shape or type.
    """
    deferred = as_shares("deferred", deferred, len(view))
    errors = {"ece": binned.calibration_error, "squared_calibration_error": binned.squared_calibration_error}
    pairs = clip_probability(view.probability), view.expert_correct
    calibration = {
        name: Statistic(error(*pairs, bins=bins, strategy=strategy), len(view)) for name, error in errors.items()
    }
    machine = None if view.labels is None else view.machine_correct
    shares = accuracies_of_flags(machine, view.expert_correct, deferred)
    accuracy = shares["system"].value
    value = None if accuracy is None else accuracy - cost * float(deferred.mean())
    return shares | calibration | {"value": Statistic(value, shares["system"].n)}


def budget_curve(view: EstimatorView, *, cost: float = 0.0) -> pd.DataFrame:
    """Accuracy at 101 budgets, decided as by `decide_in_shares`: budget, coverage, system_accuracy, value.

    The value is the system accuracy less the cost of asking. ValueError for logged outputs, or a cost outside 0..1.
    """
    n_deferred = np.array([_num_deferred(view, cost, budget) for budget in BUDGETS])
    columns = budget_columns(view.defer_margin, view.machine_correct, view.expert_correct, n_deferred)
    value = columns["system_accuracy"] - cost * n_deferred / len(view)
    picked = {name: columns[name] for name in ("coverage", "system_accuracy")}
    return pd.DataFrame({"budget": BUDGETS, **picked, "value": value})


def confusion(view: EstimatorView, deferred: np.ndarray) -> pd.DataFrame:
    """Who is right with whom: four rows of machine_right, expert_right, with n and n_deferred.

    ValueError for logged outputs, or on a wrong shape or type.
    """
    deferred, machine = as_flags("deferred", deferred, len(view)), view.machine_correct
    cell = 2 * machine + view.expert_correct
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    n, n_deferred = np.bincount(cell, minlength=4), np.bincount(cell[deferred], minlength=4)
    rows = [(one, other, n[2 * one + other], n_deferred[2 * one + other]) for one, other in pairs]
    return pd.DataFrame(rows, columns=["machine_right", "expert_right", "n", "n_deferred"])


def cases(system: System, view: EstimatorView, deferred: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
    """Some cases of a system as a table: id, label, machine, confidence, expert, probability, deferred, gain.

    rows (M,): which, as whole numbers, in the order wanted. The classes are names; for logged outputs they are None,
    and id is the row's number. ValueError on rows out of range, or a wrong shape or type.
    """
    deferred, rows = as_flags("deferred", deferred, len(view)), np.asarray(rows, dtype=np.int64)
    require_range("rows", rows, 0, len(view) - 1)
    scores = system.test
    named: dict[str, object] = {"id": rows.astype(str), **dict.fromkeys(("label", "machine", "expert"))}
    if isinstance(scores, Scores):
        names = np.asarray(scores.class_names, dtype=object)
        picks = {"label": scores.labels, "machine": view.machine_class, "expert": view.expert_class}
        named = {"id": scores.ids[rows], **{key: names[np.asarray(which)[rows]] for key, which in picks.items()}}
    numbers = {
        "confidence": view.confidence,
        "probability": view.probability,
        "deferred": deferred,
        "gain": view.defer_margin,
    }
    columns = named | {name: values[rows] for name, values in numbers.items()}
    order = ["id", "label", "machine", "confidence", "expert", "probability", "deferred", "gain"]
    return pd.DataFrame(columns, index=range(len(rows)), columns=order)


def _correction(system: System, estimator: str | None, method: str) -> Recalibration:
    if method == "none":
        return raw(system.test.surrogate, estimator)
    if system.validation is None:
        raise ValueError(f"{system.name} has no validation scores, and a recalibration is fitted on these")
    return fit_recalibration(method, system.validation, estimator)
