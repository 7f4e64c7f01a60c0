"""Accuracy against coverage and against the budget: tables of scores, and the plain columns behind them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from l2d_core.common.checks import ArrayLike, as_floats, require_range
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import expert_correct_if_asked, expert_is_right, machine_is_right
from l2d_core.evaluation.deferral import deferral_order, num_deferred, share_deferred

Columns = dict[str, np.ndarray]


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
    """Accuracy against the budget: one row per budget, decided as by `deferral.defer_by_budget`.

    Where a budget cuts a tie, the numbers are expected values over the order within it, as on `coverage_curve`.
    Columns: budget, coverage, n_kept, system_accuracy, machine_accuracy (on the kept), expert_accuracy (on
    the deferred); the last two are NaN where they would be over 0 cases.

    margin (N,); budgets (B,) in 0..1, in any order. ValueError on NaN, a wrong shape, a budget out of range,
    or a case without an expert's answer that the largest budget may defer.
    """
    margin = as_floats("margin", margin, (len(scores),))
    budgets = as_floats("budgets", budgets)
    n_deferred = np.array([num_deferred(margin, budget, forced=forced) for budget in budgets], dtype=np.int64)
    needed = share_deferred(margin, int(n_deferred.max(initial=0))) > 0
    expert, _ = expert_correct_if_asked(scores, needed=needed)
    columns = budget_columns(margin, machine_is_right(scores), expert, n_deferred)
    return pd.DataFrame({"budget": budgets, **columns})


def curves_at(scores: Scores, margin: ArrayLike, coverages: ArrayLike) -> Columns:
    """Accuracies at given coverages (M,), so that those of several seeds can be averaged.

    Returns (M,) each: system_accuracy and machine_accuracy, as in `coverage_curve`, and two system accuracies for
    reference: "optimal", of a rule that knows who is right, and "random", where chance picks who decides. Between two
    rows of a curve the numbers of right and of kept cases run in straight lines, as splitting the tied cases at random
    gives on average; NaN where an accuracy would be over 0 cases.

    Errors as in `coverage_curve`; ValueError on a coverage outside 0..1.
    """
    coverages = as_floats("coverages", coverages)
    require_range("coverages", coverages, 0, 1)
    return columns_at(as_floats("margin", margin, (len(scores),)), *_who_is_right(scores), coverages)


def _who_is_right(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    return machine_is_right(scores), expert_is_right(scores)


# The columns of the curves. machine, expert: (N,) bool each, whether it is right.


def columns_at(margin: np.ndarray, machine: np.ndarray, expert: np.ndarray, coverages: np.ndarray) -> Columns:
    """The columns of `curves_at`."""
    own = read_at(coverage_columns(margin, machine, expert)[0], coverages)
    references = {"optimal": optimal_columns(machine, expert), "random": random_columns(machine, expert)}
    return {
        "system_accuracy": own["system_accuracy"],
        "machine_accuracy": own["machine_accuracy"],
        **{name: read_at(columns, coverages)["system_accuracy"] for name, columns in references.items()},
    }


def coverage_columns(margin: np.ndarray, machine: np.ndarray, expert: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The columns of `coverage_curve`, and its thresholds."""
    order = deferral_order(margin)[::-1]
    ascending = margin[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] > ascending[:-1]))
    threshold = np.append(ascending[starts], np.nextafter(ascending[-1], np.inf))
    return accuracy_columns(machine[order], expert[order], np.append(starts, len(margin))), threshold


def budget_columns(margin: np.ndarray, machine: np.ndarray, expert: np.ndarray, n_deferred: np.ndarray) -> Columns:
    """The accuracies where the n_deferred (B,) cases of the largest margins are deferred, ties at random."""
    n_kept = len(margin) - n_deferred
    coverage, *accuracies = read_at(coverage_columns(margin, machine, expert)[0], n_kept / len(margin)).items()
    return dict([coverage, ("n_kept", n_kept), *accuracies])


def optimal_columns(machine: np.ndarray, expert: np.ndarray) -> Columns:
    """The best system accuracy at each coverage: cases that only the machine gets right are kept first, those that only
    the expert gets right last.
    """
    n, only_machine, only_expert = len(machine), (machine & ~expert).sum(), (expert & ~machine).sum()
    n_kept = np.unique([0, only_machine, n - only_expert, n])
    gained = np.minimum(n_kept, only_machine)
    lost = np.maximum(n_kept - (n - only_expert), 0)
    return {"coverage": n_kept / n, "system_accuracy": (expert.sum() + gained - lost) / n}


def random_columns(machine: np.ndarray, expert: np.ndarray) -> Columns:
    """The expected system accuracy of random deferral: a straight line from the expert alone to the machine alone."""
    return {"coverage": np.array([0.0, 1.0]), "system_accuracy": np.array([expert.mean(), machine.mean()])}


def accuracy_columns(machine: np.ndarray, expert: np.ndarray, n_kept: np.ndarray) -> Columns:
    """The accuracies where the machine keeps the first n_kept of the cases (N,)."""
    n = len(machine)
    machine_right = np.append(0, np.cumsum(machine))[n_kept]
    expert_right = expert.sum() - np.append(0, np.cumsum(expert))[n_kept]
    return {
        "coverage": n_kept / n,
        "n_kept": n_kept,
        "system_accuracy": (machine_right + expert_right) / n,
        "machine_accuracy": _ratio(machine_right, n_kept),
        "expert_accuracy": _ratio(expert_right, n - n_kept),
    }


def read_at(curve: Mapping[str, np.ndarray], coverages: np.ndarray) -> Columns:
    """A curve's columns, read at other coverages as in `curves_at`; its coverage rises from 0 to 1."""
    known = curve["coverage"]
    # Each accuracy is a number of right cases over a number of cases; as shares of N both are straight lines.
    denominators = {
        "system_accuracy": (np.ones_like(known), np.ones_like(coverages)),
        "machine_accuracy": (known, coverages),
        "expert_accuracy": (1 - known, 1 - coverages),
    }
    table = {"coverage": coverages}
    for column, (weight, wanted) in denominators.items():
        if column in curve:
            right = np.nan_to_num(curve[column]) * weight
            table[column] = _ratio(np.interp(coverages, known, right), wanted)
    return table


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
