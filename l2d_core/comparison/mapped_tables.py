"""Predictions of other programs: a table whose columns the caller maps becomes `Scores`.

`guess_columns` proposes a mapping, which the caller confirms; whether numbers are logits or probabilities is never
guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from l2d_core.common.checks import brief, require_finite, require_known, require_range
from l2d_core.comparison.table_files import LEFT_OUT, read_predictions
from l2d_core.data import Scores
from l2d_core.surrogates import SURROGATES

__all__ = ["DOMAINS", "Columns", "guess_columns", "logits_of_probabilities", "read_predictions", "to_scores"]

DOMAINS = ("logits", "probabilities")
MAX_ID_LENGTH = 200
ID_ROOM = 64 * 2**20  # bytes of all ids, or 16 times what they need
ROW_SUM_TOLERANCE = 1e-5  # float32 rounding; a larger error means other numbers
LIKE_A_SUM = 1e-3  # from 1 in every row; logits do not sum to 1 by accident
SMALLEST = np.finfo(np.float64).tiny
LARGEST = 1 - np.finfo(np.float64).epsneg


@dataclass(frozen=True)
class Columns:
    """The meaning of a table's columns. scores: of the K classes, in order; defer: of the J experts, in order.

    label, answers: the true class and each expert's answer, by class name or by number from 0; -1 or empty in answers:
    not asked. id may be "": cases are then numbered by row.
    """

    label: str
    answers: tuple[str, ...]
    scores: tuple[str, ...]
    defer: tuple[str, ...]
    id: str = ""

    def __post_init__(self) -> None:
        if len(self.scores) < 2:
            raise ValueError(f"scores must name a column a class, at least 2, got {len(self.scores)}")
        if not self.answers or len(self.answers) != len(self.defer):
            raise ValueError(
                f"answers and defer must name a column an expert each, got {len(self.answers)} and {len(self.defer)}"
            )
        named = [name for name in self.all if name]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"a column can be one thing only, got {', '.join(map(repr, twice))} twice")

    @property
    def all(self) -> tuple[str, ...]:
        """All columns."""
        return (self.id, self.label, *self.answers, *self.scores, *self.defer)


_DEFER = re.compile(
    r"(defer|expert)[_ .-]?(score|prob|logit)?s?[_ .-]?\d*|g_d|p_d|(logit|prob|score|p|g)s?[_ .-]?defer", re.I
)
_SCORE = re.compile(r"(logit|prob|score|p|g|class)s?[_ .-]?.+", re.I)
_LABEL = ("label", "labels", "y", "target", "truth", "true_label", "class", "dx")
_SURELY_SCORE = re.compile(r"(logit|prob|score)s?[_ .-]?.+", re.I)  # for integers, which may be ids or ages
_ANSWER = re.compile(r"(expert[_ .-]?)?(answer|prediction|said|vote)s?[_ .-]?\d*|m|expert[_ .-]?\d*", re.I)
_ID = ("id", "ids", "case", "image_id", "name", "file")


def guess_columns(table: pd.DataFrame) -> Columns | None:
    """A proposal from the columns' names and types, to be confirmed; None if it would be incomplete."""
    names = [str(name) for name in table.columns]
    whole = {name for name in names if _is_whole(table[name])}
    numeric = [name for name in names if _is_number_column(table[name])]
    label = next((name for name in names if name.lower() in _LABEL), "")
    known_id = next((name for name in names if name.lower() in _ID), "")
    answers = [
        name
        for name in names
        if name not in (label, known_id) and (name in whole or name not in numeric) and _ANSWER.fullmatch(name)
    ]
    taken = {label, known_id, *answers}
    defer = [name for name in numeric if name not in taken and _DEFER.fullmatch(name)]
    scores = [
        name
        for name in numeric
        if name not in taken and name not in defer and (_SURELY_SCORE if name in whole else _SCORE).fullmatch(name)
    ]
    try:
        return Columns(label, tuple(answers), tuple(scores), tuple(defer), known_id) if label else None
    except ValueError:
        return None


def _is_number_column(column: Any) -> bool:
    return pd.api.types.is_float_dtype(column) or pd.api.types.is_integer_dtype(column)


def _is_whole(column: Any) -> bool:
    """Whether all numbers are integers, as classes are; some may be missing."""
    if pd.api.types.is_float_dtype(column):
        return bool((column.isna() | (column == np.round(column))).all())
    return pd.api.types.is_integer_dtype(column)


def to_scores(
    table: pd.DataFrame,
    columns: Columns,
    *,
    surrogate: str,
    domain: str,
    class_names: Sequence[str] | None = None,
) -> Scores:
    """The table as `Scores`.

    surrogate: a name in SURROGATES, by which the scores are read. domain: "logits", or "probabilities": for softmax p
    over the K classes and the experts, which must sum to 1 and become ln p; for asymmetric_softmax a over the classes,
    which must sum to 1, and a_d by itself; for one_vs_all a sigmoid each, which becomes its logit. 0 and 1 become the
    nearest number with a finite logit. class_names: in the order
    of columns.scores; labels and answers may use them; by default the names of those columns.

    ValueError names the column and the row: a column that is missing, a value that is no finite number, a
    probability outside 0..1, a row that does not sum to 1, an unknown class; logits that look like probabilities.
    """
    require_known("surrogate", surrogate, SURROGATES)
    require_known("domain", domain, DOMAINS)
    missing = [name for name in columns.all if name not in table and not (name == columns.id == "")]
    if missing:
        kinds = table.attrs.get(LEFT_OUT, {})
        unread = "".join(
            f"; {name!r} is of the type {kinds[name]}, which is not read" for name in missing if name in kinds
        )
        names = ", ".join(map(repr, missing))
        raise ValueError(f"the table lacks the columns {names}; it has {_listed(table)}{unread}")
    ids = _ids(columns.id, _values(table, columns.id)) if columns.id else np.arange(len(table)).astype(str)
    names = tuple(class_names or columns.scores)
    if len(names) != len(columns.scores):
        raise ValueError(f"class_names must be {len(columns.scores)}, as many as there are scores, got {len(names)}")
    numbers = np.stack(
        [_numbers(name, _values(table, name), ids) for name in (*columns.scores, *columns.defer)], axis=1
    )
    labels = _classes(columns.label, _values(table, columns.label), names, ids, may_be_missing=False)
    answers = [_classes(name, _values(table, name), names, ids, may_be_missing=True) for name in columns.answers]
    if domain == "logits":
        _refuse_probabilities(numbers, len(columns.scores))
    return Scores(
        logits=numbers if domain == "logits" else _logits_of(numbers, columns, surrogate, ids),
        labels=labels,
        answers=np.stack(answers, axis=1),
        ids=ids,
        class_names=names,
        expert_names=columns.answers,
        surrogate=surrogate,
    )


def _values(table: pd.DataFrame, name: str) -> np.ndarray:
    return np.asarray(table[name])


def _ids(name: str, values: np.ndarray) -> np.ndarray:
    """Ids as text. Long ones are refused, since numpy reserves the length of the longest for each."""
    if values.dtype.kind == "O" and len(values):
        lengths = np.fromiter((len(str(value)) for value in values), dtype=np.int64, count=len(values))
        row, longest = int(lengths.argmax()), int(lengths.max())
        if longest > MAX_ID_LENGTH:
            raise ValueError(
                f"{name}, an id, must have at most {MAX_ID_LENGTH} characters, got {longest:,} at row {row}"
            )
        if 4 * longest * len(values) > max(ID_ROOM, 64 * lengths.sum()):
            raise ValueError(f"{name} must hold ids of similar length, got one of {longest} characters at row {row}")
    return values.astype(str)


def _listed(table: pd.DataFrame) -> str:
    names = [str(name)[:80] for name in table.columns]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _numbers(name: str, values: np.ndarray, ids: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "fiu":
        row, value = next(((row, one) for row, one in enumerate(values) if not _is_number(one)), (0, values[0]))
        raise ValueError(f"{name} must hold numbers, got {brief(value)} at row {row} ({ids[row]})")
    numbers = values.astype(np.float64)
    require_finite(name, numbers, ids)
    return numbers


def _place(value: object, num_classes: int, may_be_missing: bool) -> int | None:
    """The class that a text such as "2" means, -1 for a missing answer; None for other texts."""
    text = value.strip() if isinstance(value, str) else ""
    if text == "-1" and may_be_missing:
        return -1
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) < num_classes else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse_probabilities(numbers: np.ndarray, num_classes: int) -> None:
    """Raise ValueError where numbers (N, K+J), said to be logits, lie in 0..1 and sum to 1, the classes' or all."""
    of_one_vs_all = ", of one_vs_all or asymmetric_softmax where those of deferring are probabilities of their own"
    parts = (numbers, "all scores", ""), (numbers[:, :num_classes], "the scores of the classes", of_one_vs_all)
    for part, whose, which in parts:
        is_in_range = ((part >= 0) & (part <= 1)).all()
        if len(part) and is_in_range and (np.abs(part.sum(axis=1) - 1) <= LIKE_A_SUM).all():
            raise ValueError(
                f"the scores are said to be logits, but look like probabilities: {whose} lie in 0..1 and sum to 1 in "
                f"each of the {len(part):,} rows. Choose the domain 'probabilities'{which}, or bring the logits"
            )


def _logits_of(numbers: np.ndarray, columns: Columns, surrogate: str, ids: np.ndarray) -> np.ndarray:
    for place, name in enumerate((*columns.scores, *columns.defer)):
        require_range(f"{name}, a probability,", numbers[:, place], 0, 1, ids)
    return logits_of_probabilities(numbers, surrogate, ids)


def logits_of_probabilities(numbers: np.ndarray, surrogate: str, ids: np.ndarray | None = None) -> np.ndarray:
    """Logits (N, M) of probabilities in 0..1, as `to_scores` says; ValueError on a row that does not sum to 1."""
    if surrogate == "one_vs_all":
        return _log_odds(numbers)
    if surrogate == "asymmetric_softmax":
        return _asymmetric_logits(numbers, ids)
    _check_row_sums(numbers, surrogate, ids)
    return np.log(np.maximum(numbers, SMALLEST))


def _log_odds(numbers: np.ndarray) -> np.ndarray:
    kept = np.clip(numbers, SMALLEST, LARGEST)
    return np.log(kept) - np.log1p(-kept)


def _asymmetric_logits(numbers: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
    """g_k = ln a_k, and g_d = logit a_d + ln of the sum of a_k over all classes but the best.

    Where rounding would turn the decision, at a_k or a_d of 1, g_d is moved to the other side of the best class.
    """
    classes, asked = np.maximum(numbers[:, :-1], SMALLEST), numbers[:, -1]
    _check_row_sums(numbers[:, :-1], "the classes of asymmetric_softmax", ids)
    best = classes.max(axis=1)
    score = _log_odds(asked) + np.log(np.sort(classes, axis=1)[:, :-1].sum(axis=1))
    is_asked = asked >= numbers[:, :-1].max(axis=1)
    top = np.log(best)
    score = np.where(is_asked, np.maximum(score, top), np.minimum(score, np.nextafter(top, -np.inf)))
    return np.column_stack([np.log(classes), score])


def _check_row_sums(numbers: np.ndarray, surrogate: str, ids: np.ndarray | None) -> None:
    """Raise ValueError unless each row of probabilities (N, M) sums to 1; ids names the row."""
    total = numbers.sum(axis=1)
    bad = ~(np.abs(total - 1) <= ROW_SUM_TOLERANCE)
    if bad.any():
        row = int(bad.argmax())
        known = "" if ids is None else f" ({ids[row]})"
        raise ValueError(
            f"the probabilities of {surrogate} must sum to 1 in each row, got {total[row]:.6g} at row {row}{known}, "
            f"and in {bad.sum():,} rows: are they logits, or of one_vs_all?"
        )


def _classes(
    name: str, values: np.ndarray, known: tuple[str, ...], ids: np.ndarray, *, may_be_missing: bool
) -> np.ndarray:
    """Class names, or numbers from 0, as numbers; -1 for a missing one, where that is allowed.

    ValueError if classes are named by numbers other than their indices, so that a number would be ambiguous.
    """
    if values.dtype.kind in "fiu" and any(text.isdecimal() and int(text) != k for k, text in enumerate(known)):
        raise ValueError(
            f"{name} has numbers, and so have the classes, {', '.join(map(repr, known[:20]))}, in another order than "
            "0, 1, 2, ...: a number could be a name or a place. Give the classes other names"
        )
    if values.dtype.kind == "f" and (np.isnan(values) | (values == np.round(values))).all():
        values = np.where(np.isnan(values), -1, values)
        require_range(f"{name}, a class,", values, -1 if may_be_missing else 0, len(known) - 1, ids)
        values = values.astype(np.int64)
    if values.dtype.kind in "iu":
        numbers = values.astype(np.int64)
        require_range(f"{name}, a class,", numbers, -1 if may_be_missing else 0, len(known) - 1, ids)
        return numbers
    codes, distinct = pd.factorize(values)  # a missing value has the code -1
    number = {class_name: place for place, class_name in enumerate(known)}
    for code, value in enumerate(distinct):
        if value not in number and (place := _place(value, len(known), may_be_missing)) is not None:
            number[value] = place
        if value not in number:
            row = int((codes == code).argmax())
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, known[:20]))}, or a number from 0 to {len(known) - 1}; "
                f"got {brief(values[row : row + 1].tolist()[0])} at row {row} ({ids[row]})"
            )
    if not may_be_missing and (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(f"{name} must be given in every row, got nothing at row {row} ({ids[row]})")
    return np.append([number[value] for value in distinct], -1).astype(np.int64)[codes]
