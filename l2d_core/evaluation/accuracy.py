"""Who is right, machine, expert or both together, over all cases and class by class.

A deferred case goes to the expert of the highest score, `deferral.best_expert`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from l2d_core.common.checks import ArrayLike, as_flags, as_floats, require_range, require_shape
from l2d_core.data import Scores
from l2d_core.evaluation.deferral import best_expert


@dataclass(frozen=True)
class Statistic:
    """A number computed from n cases, such as an accuracy; None where n is 0."""

    value: float | None
    n: int

    @classmethod
    def mean_of(cls, flags: np.ndarray) -> "Statistic":
        """The share of True among flags (n,)."""
        return cls(float(flags.mean()) if len(flags) else None, len(flags))

    @classmethod
    def weighted(cls, flags: np.ndarray, weights: np.ndarray) -> "Statistic":
        """The share of True among flags (N,), each with its weight (N,) in 0..1; n is the sum of the weights."""
        total = float(weights.sum())
        return cls(float(weights @ flags) / total if total else None, round(total))


def accuracies(scores: Scores, deferred: ArrayLike) -> dict[str, Statistic]:
    """Who is right how often, each with the number of cases that it is a share of.

    system: all cases, the deferred ones answered by the expert, the others by the machine;
    machine_on_kept, expert_on_deferred: each on its own cases; machine_alone: all cases; expert_alone: all
    cases in which the expert was asked; coverage: the share that the machine keeps.

    deferred (N,) bool. ValueError on a wrong shape or type, or on a deferred case without an answer.
    """
    return expected_accuracies(scores, as_flags("deferred", deferred, len(scores)))


def expected_accuracies(scores: Scores, deferred: ArrayLike) -> dict[str, Statistic]:
    """The expected values of `accuracies` where a case is deferred with a probability, (N,) in 0..1. Errors as there.

    `deferral.share_deferred` gives the probabilities where a budget cuts a tie.
    """
    deferred = as_shares("deferred", deferred, len(scores))
    expert, asked = expert_correct_if_asked(scores, needed=deferred > 0)
    shares = accuracies_of_flags(machine_is_right(scores), expert, deferred)
    return shares | {"expert_alone": Statistic.mean_of(expert[asked])}


def accuracies_of_flags(machine: np.ndarray | None, expert: np.ndarray, deferred: np.ndarray) -> dict[str, Statistic]:
    """The numbers of `accuracies` from who is right, (N,) bool each, and what is deferred, (N,) bool or shares in 0..1.

    machine: None where it is not known; then its numbers, and the system's, have the value None.
    """
    unknown, asked = Statistic(None, 0), deferred.astype(np.float64)
    return {
        "system": unknown if machine is None else Statistic.mean_of(right_of_system(machine, expert, asked)),
        "machine_on_kept": unknown if machine is None else Statistic.weighted(machine, 1 - asked),
        "expert_on_deferred": Statistic.weighted(expert, asked),
        "machine_alone": unknown if machine is None else Statistic.mean_of(machine),
        "expert_alone": Statistic.mean_of(expert),
        "coverage": Statistic.mean_of(1 - asked),
    }


def right_of_system(machine: np.ndarray, expert: np.ndarray, deferred: np.ndarray) -> Float64[np.ndarray, " N"]:
    """The probability that machine and expert together are right, (N,); deferred (N,): bool or shares in 0..1."""
    return np.where(deferred, expert * deferred + machine * (1.0 - deferred), machine)


def as_shares(name: str, values: ArrayLike, length: int) -> Float64[np.ndarray, " N"]:
    """Flags, or shares in 0..1, as numbers (length,); ValueError on another type, shape or range."""
    if np.asarray(values).dtype.kind != "f":
        return as_flags(name, values, length).astype(np.float64)
    shares = as_floats(name, values, (length,))
    require_range(name, shares, 0, 1)
    return shares


def machine_is_right(scores: Scores) -> Bool[np.ndarray, " N"]:
    """Whether the machine names the true class, (N,), in all cases, deferred or not."""
    return scores.logits[:, : scores.num_classes].argmax(axis=1) == scores.labels


def expert_is_right(scores: Scores) -> Bool[np.ndarray, " N"]:
    """Whether the expert that a case would go to names the true class, (N,); ValueError where one has not answered."""
    return expert_correct_if_asked(scores, needed=np.ones(len(scores), dtype=bool))[0]


def expert_correct_if_asked(scores: Scores, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


@dataclass(frozen=True)
class Balanced:
    """A mean of the classes' recalls; None where no class has cases. left_out: classes without cases."""

    value: float | None
    left_out: tuple[str, ...]


def balanced_accuracy(correct: ArrayLike, labels: np.ndarray, class_names: tuple[str, ...]) -> Balanced:
    """The mean over the classes of the share that is right among their cases: every class counts the same.

    Classes without cases cannot count; they are named. correct (N,) bool; labels (N,) in 0..K-1.
    ValueError on a wrong shape or type. Source: Brodersen and others 2010.
    """
    labels = np.asarray(labels)
    require_shape("labels", labels, (None,))
    correct = as_flags("correct", correct, len(labels))
    # scikit-learn's takes predicted classes, leaves classes without cases out without naming them, and imports slowly.
    cases = np.bincount(labels, minlength=len(class_names))
    right = np.bincount(labels, correct, minlength=len(class_names))
    left_out = tuple(name for name, count in zip(class_names, cases, strict=True) if count == 0)
    recalls = right[cases > 0] / cases[cases > 0]
    return Balanced(float(recalls.mean()) if len(recalls) else None, left_out)


def averages(table: pd.DataFrame) -> pd.DataFrame:
    """Two rows under a `class_table`: the shares of all cases, and their means over the classes that have cases.

    The second are balanced accuracies; its class names what is left out. NaN where there are no cases at all.
    """
    has_cases = table["n"] > 0
    left_out = [str(name) for name in table["class"][~has_cases]]
    without = f", without {', '.join(left_out[:5])}" if left_out else ""
    without += f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    shares, n = table[has_cases].drop(columns=["class", "n"]), table["n"][has_cases]
    rows = {"all cases": shares.mul(n, axis=0).sum(min_count=1) / n.sum(), f"mean of classes{without}": shares.mean()}
    return pd.DataFrame([{"class": name, "n": n.sum(), **means} for name, means in rows.items()])


def class_table(scores: Scores, deferred: ArrayLike) -> pd.DataFrame:
    """One row per true class: how many cases it has, who is right in them, and how many are deferred.

    Columns: class, n, machine_alone, expert_alone, deferred, system; shares of the n cases, NaN where n is 0. The
    expert's are those of the one that a case would go to. deferred (N,) bool. ValueError on a wrong shape or type, or
    where an expert's answer is missing.
    """
    deferred = as_flags("deferred", deferred, len(scores))
    machine, expert = machine_is_right(scores), expert_is_right(scores)
    columns = {
        "machine_alone": machine,
        "expert_alone": expert,
        "deferred": deferred,
        "system": np.where(deferred, expert, machine),
    }
    cases = np.bincount(scores.labels, minlength=scores.num_classes)
    table = pd.DataFrame({"class": list(scores.class_names), "n": cases})
    for name, flags in columns.items():
        count = np.bincount(scores.labels, flags, minlength=scores.num_classes)
        table[name] = np.divide(count, cases, out=np.full(len(cases), np.nan), where=cases > 0)
    return table
