"""What the columns of a table of predictions mean, and a proposal from their names."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from l2d_core.comparison.column_values import is_number_column, is_text_column, texts_of

GUESSED_ROWS = 1_000  # at the top of a table, by which a proposal is made

_DEFER = re.compile(
    r"(defer|expert)[_ .-]?(score|prob|logit)?s?[_ .-]?\d*|g_d|p_d|(logit|prob|score|p|g)s?[_ .-]?defer", re.I
)
_SCORE = re.compile(r"(logit|prob|score|p|g|class)s?[_ .-]?.+", re.I)
_LABEL = ("label", "labels", "y", "target", "truth", "true_label", "class", "dx")
_SURELY_SCORE = re.compile(r"(logit|prob|score)s?[_ .-]?.+", re.I)  # for integers, which may be ids or ages
_ANSWER = re.compile(r"(expert[_ .-]?)?(answer|prediction|said|vote)s?[_ .-]?\d*|m|expert[_ .-]?\d*", re.I)
_ID = ("id", "ids", "case", "image_id", "name", "file")


@dataclass(frozen=True)
class Columns:
    """The meaning of a table's columns. scores: of the K classes, in order; defer: of the J experts, in order.

    label, answers: the true class and each expert's answer, by class name or by number from 0; an answer that is empty,
    -1 or a word for missing: not asked. answers and defer are both empty for a plain classifier, without an expert.
    id may be "": cases are then numbered by row.
    """

    label: str
    answers: tuple[str, ...]
    scores: tuple[str, ...]
    defer: tuple[str, ...]
    id: str = ""

    def __post_init__(self) -> None:
        if len(self.scores) < 2:
            raise ValueError(f"scores must name a column a class, at least 2, got {len(self.scores)}")
        if len(self.answers) != len(self.defer):
            raise ValueError(
                f"answers and defer must each name one column per expert, got {len(self.answers)} and {len(self.defer)}"
            )
        named = [name for name in self.all if name]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"a column can be one thing only, got {', '.join(map(repr, twice))} twice")

    @property
    def all(self) -> tuple[str, ...]:
        """All columns."""
        return (self.id, self.label, *self.answers, *self.scores, *self.defer)


def guess_columns(table: pd.DataFrame) -> Columns | None:
    """A proposal from the columns' names and types, to be confirmed; None if it would be incomplete."""
    table = table.head(GUESSED_ROWS)
    names = [str(name) for name in table.columns]
    numeric = [name for name in names if is_number_column(table[name])]
    whole = {name for name in names if _is_whole(table[name])}
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
    scores = scores or _named_as_classes(table, label, [name for name in numeric if name not in {*taken, *defer}])
    try:
        return Columns(label, tuple(answers), tuple(scores), tuple(defer), known_id) if label else None
    except ValueError:
        return None


def _named_as_classes(table: pd.DataFrame, label: str, numeric: list[str]) -> list[str]:
    """The columns of numbers, where they have the names of the classes in the column of labels."""
    labels = set(filter(None, texts_of(table[label]))) if label else set()
    return numeric if labels and labels.issubset(numeric) else []


def _is_whole(column: Any) -> bool:
    """Whether all numbers are integers, as classes are; some may be missing."""
    if is_text_column(column):
        texts = [text for text in texts_of(column) if text is not None]
        return bool(texts) and all(re.fullmatch(r"-?\d+(\.0*)?", text) for text in texts)
    if pd.api.types.is_float_dtype(column):
        return bool((column.isna() | (column == np.round(column))).all())
    return pd.api.types.is_integer_dtype(column)
