"""Who is right in which class, and accuracy where every class counts the same."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from l2d_core.common.arrays import ArrayLike, as_flags
from l2d_core.common.checks import require_shape
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import expert_is_right, machine_is_right


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
    """A row a class, of the cases that truly are of it: how many, who is right, how many are deferred.

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
