"""Predictions of other programs: a table whose columns the caller maps becomes `Scores`.

`guess_columns` proposes a mapping, which the caller confirms; whether numbers are logits or probabilities is never
guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from l2d_core.common.checks import require_known, require_range
from l2d_core.common.seeds import torch_generator
from l2d_core.comparison.column_values import read_classes, read_ids, read_numbers, read_truth
from l2d_core.comparison.probability_scores import (
    SMALLEST,
    clip_rounded,
    decimals_note,
    logits_of_probabilities,
    sum_tolerance,
)
from l2d_core.comparison.table_columns import Columns, guess_columns
from l2d_core.comparison.table_files import LEFT_OUT, read_predictions
from l2d_core.data import Scores
from l2d_core.datasets.delimited_text import shown_columns
from l2d_core.experts.simulated import per_class, sample_answers
from l2d_core.surrogates import SURROGATES

__all__ = [
    "ANSWERS_ARE",
    "DOMAINS",
    "Columns",
    "Imported",
    "guess_columns",
    "import_table",
    "logits_of_probabilities",
    "read_predictions",
    "to_scores",
]

DOMAINS = ("logits", "probabilities")
ANSWERS_ARE = {"classes": "which class the expert named", "correct": "whether the expert was right"}
LIKE_A_SUM = 1e-3  # from 1 in every row; logits do not sum to 1 by accident
NO_EXPERT = (
    "there is no expert in this table: no column of answers and none of deferral scores. Simulate one by its accuracy "
    "(--expert-accuracy on the command line): cases are then deferred where the expert is more likely to be right than "
    "the classifier's most probable class"
)


@dataclass(frozen=True)
class Imported:
    """The scores in a table, and what to note of how it was read."""

    scores: Scores
    notes: tuple[str, ...] = ()


def to_scores(
    table: pd.DataFrame,
    columns: Columns,
    *,
    surrogate: str,
    domain: str,
    class_names: Sequence[str] | None = None,
) -> Scores:
    """The table as `Scores`; arguments and ValueError as in `import_table`."""
    return import_table(table, columns, surrogate=surrogate, domain=domain, class_names=class_names).scores


def import_table(
    table: pd.DataFrame,
    columns: Columns,
    *,
    surrogate: str,
    domain: str,
    class_names: Sequence[str] | None = None,
    answers_are: str = "classes",
    expert_accuracy: Sequence[float] | None = None,
) -> Imported:
    """The table as `Scores`, with notes.

    surrogate: a name in SURROGATES, by which the scores are read. domain: "logits", or "probabilities": for softmax p
    over the K classes and the experts, which must sum to 1 and become ln p; for asymmetric_softmax a over the classes,
    which must sum to 1, and a_d by itself; for one_vs_all a sigmoid each, which becomes its logit. 0 and 1 become the
    nearest number with a finite logit. class_names: in the order of columns.scores; labels and answers may use them; by
    default the names of those columns. answers_are: a name in ANSWERS_ARE. expert_accuracy: for a table without an
    expert, the accuracy of a simulated one, one number or one per class.

    ValueError names the column and the row: a column that is missing, a value that is no finite number, a
    probability outside 0..1, a row that does not sum to 1, an unknown class; logits that look like probabilities.
    """
    require_known("surrogate", surrogate, SURROGATES)
    require_known("domain", domain, DOMAINS)
    require_known("answers_are", answers_are, ANSWERS_ARE)
    _require_columns(table, columns)
    ids = read_ids(columns.id, _column(table, columns.id)) if columns.id else np.arange(len(table)).astype(str)
    names = tuple(class_names or columns.scores)
    if len(names) != len(columns.scores):
        raise ValueError(f"class_names must be {len(columns.scores)}, as many as there are scores, got {len(names)}")
    used = (*columns.scores, *columns.defer)
    numbers = np.stack([read_numbers(name, _column(table, name), ids) for name in used], axis=1)
    labels = read_classes(columns.label, _column(table, columns.label), names, ids, may_be_missing=False)
    if not columns.answers:
        return _with_simulated_expert(numbers, labels, ids, names, domain, expert_accuracy)
    answers, notes = _read_answers(table, columns, names, ids, labels, answers_are)
    if domain == "logits":
        _refuse_probabilities(numbers, len(columns.scores))
        logits = numbers
    else:
        numbers, clipped = clip_rounded(numbers, used, ids)
        logits = logits_of_probabilities(numbers, surrogate, ids)
        summed = {"one_vs_all": 0, "asymmetric_softmax": len(names)}.get(surrogate, len(used))
        notes += clipped + (decimals_note(numbers[:, :summed]) if summed else ())
    made = Scores(logits, labels, answers, ids, class_names=names, expert_names=columns.answers, surrogate=surrogate)
    return Imported(made, notes)


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    column = table[name]
    assert isinstance(column, pd.Series)  # _require_columns has seen to it
    return column


def _require_columns(table: pd.DataFrame, columns: Columns) -> None:
    missing = [name for name in columns.all if name not in table and not (name == columns.id == "")]
    if missing:
        kinds = table.attrs.get(LEFT_OUT, {})
        unread = "".join(
            f"; {name!r} is of the type {kinds[name]}, which is not read" for name in missing if name in kinds
        )
        names = ", ".join(map(repr, missing))
        raise ValueError(f"the table lacks the columns {names}; it has {shown_columns(table.columns)}{unread}")


def _read_answers(
    table: pd.DataFrame, columns: Columns, names: tuple[str, ...], ids: np.ndarray, labels: np.ndarray, meaning: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Answers (N, J), and what to note. Of a wrong answer that is not named the next class stands for it."""
    if meaning == "classes":
        found = [read_classes(name, _column(table, name), names, ids, may_be_missing=True) for name in columns.answers]
        return np.stack(found, axis=1), ()
    right = np.stack([read_truth(name, _column(table, name), ids) for name in columns.answers], axis=1)
    answers = np.where(right == 1, labels[:, None], np.where(right == 0, (labels[:, None] + 1) % len(names), -1))
    return answers, ("which class a wrong expert named is not known: the class after the true one stands for it",)


def _with_simulated_expert(
    numbers: np.ndarray,
    labels: np.ndarray,
    ids: np.ndarray,
    names: tuple[str, ...],
    domain: str,
    accuracy: Sequence[float] | None,
) -> Imported:
    """A plain classifier p beside an expert of given accuracies a: P(expert right | x) = sum of p_k a_k.

    As scores of a softmax system, ln p_k and ln of that sum: it defers where the sum is larger than every p_k.
    """
    if accuracy is None:
        raise ValueError(NO_EXPERT)
    given = np.array(accuracy, dtype=np.float64)
    if len(given) not in (1, len(names)):
        raise ValueError(f"expert_accuracy must be one number or one per class ({len(names)}), got {len(given)}")
    require_range("expert_accuracy", given, 0, 1)
    each = np.broadcast_to(given, (len(names),))
    if domain == "logits":
        _refuse_probabilities(numbers, len(names))
        probability, notes = torch.softmax(torch.from_numpy(numbers), dim=1).numpy(), ()
    else:
        probability, notes = clip_rounded(numbers, names, ids)
        logits_of_probabilities(probability, "softmax", ids)
    generator = torch_generator(0, "simulated expert")
    answers = sample_answers(per_class(each.tolist()), torch.from_numpy(labels), generator=generator).numpy()[:, None]
    logits = np.log(np.maximum(np.column_stack([probability, probability @ each]), SMALLEST))
    made = Scores(logits, labels, answers, ids, names, ("simulated expert",), surrogate="softmax")
    how = "the expert is simulated; cases are deferred by the classifier's confidence, not by a trained rejector"
    return Imported(made, (how, *notes))


def _refuse_probabilities(numbers: np.ndarray, num_classes: int) -> None:
    """Raise ValueError where numbers (N, K+J), said to be logits, lie in 0..1 and sum to 1, the classes' or all."""
    of_one_vs_all = ", of one_vs_all or asymmetric_softmax where those of deferring are probabilities of their own"
    parts = (numbers, "all scores", ""), (numbers[:, :num_classes], "the scores of the classes", of_one_vs_all)
    for part, whose, which in parts:
        is_in_range = ((part >= 0) & (part <= 1)).all()
        tolerance = max(LIKE_A_SUM, sum_tolerance(part))
        if len(part) and is_in_range and (np.abs(part.sum(axis=1) - 1) <= tolerance).all():
            raise ValueError(
                f"the scores are said to be logits, but look like probabilities: {whose} lie in 0..1 and sum to 1 in "
                f"each of the {len(part):,} rows. Choose the domain 'probabilities'{which}, or bring the logits"
            )
