"""Accuracy against coverage as plain columns, from who is right in each case; `evaluation` makes tables of them.

machine and expert: (N,) bool each, whether it is right.
"""

from collections.abc import Mapping

import numpy as np

from l2d_core.evaluation.deferral import deferral_order

Columns = dict[str, np.ndarray]


def coverage_columns(margin: np.ndarray, machine: np.ndarray, expert: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The columns of `coverage_curve`, and its thresholds."""
    order = deferral_order(margin)[::-1]
    ascending = margin[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] > ascending[:-1]))
    threshold = np.append(ascending[starts], np.nextafter(ascending[-1], np.inf))
    return accuracy_columns(machine[order], expert[order], np.append(starts, len(margin))), threshold


def optimal_columns(machine: np.ndarray, expert: np.ndarray) -> Columns:
    """The columns of `optimal_curve`."""
    n, only_machine, only_expert = len(machine), (machine & ~expert).sum(), (expert & ~machine).sum()
    n_kept = np.unique([0, only_machine, n - only_expert, n])
    gained = np.minimum(n_kept, only_machine)
    lost = np.maximum(n_kept - (n - only_expert), 0)
    return {"coverage": n_kept / n, "system_accuracy": (expert.sum() + gained - lost) / n}


def random_columns(machine: np.ndarray, expert: np.ndarray) -> Columns:
    """The columns of `random_curve`."""
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
    """The columns of `curve_at`, of a curve whose coverage rises from 0 to 1."""
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
