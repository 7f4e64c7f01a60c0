"""The values of one column of a table of predictions: ids, numbers, classes, or whether an expert was right.

The columns of text files hold the text as written, so that "0001" stays an id; what a column means decides how it is
read. Those of Parquet and of a caller's own table have types.
"""

import re
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from l2d_core.common.checks import brief, require_finite, require_range
from l2d_core.datasets.delimited_text import MISSING

MAX_ID_LENGTH = 200
ID_ROOM = 64 * 2**20  # bytes of all ids, or twice what they need
TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False, "yes": True, "no": False}
_WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.0*)?")
_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)


def is_text_column(column: Any) -> bool:
    """Whether a column holds texts, or Python objects."""
    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def is_number_column(column: Any) -> bool:
    """Whether all values are numbers, apart from missing ones, in digits or as numbers."""
    if not is_text_column(column):
        return not pd.api.types.is_bool_dtype(column)
    texts = [text for text in texts_of(column) if text is not None]
    return bool(texts) and bool(np.isfinite(_parse(np.array(texts, dtype=object))).any()) and _bad_row(texts) is None


def texts_of(column: Any) -> list[str | None]:
    """The values as trimmed texts, None for a missing one."""
    values = column.to_numpy(dtype=object, na_value=None) if isinstance(column, pd.Series) else np.asarray(column)
    texts = [None if value is None or value != value else str(value).strip() for value in values.tolist()]
    return [None if text is None or text.casefold() in MISSING else text for text in texts]


def read_ids(name: str, column: pd.Series) -> np.ndarray:
    """Ids as text, as they are written, (N,). ValueError names the row of one that is missing, repeated or too long.

    Long ones are refused, since numpy reserves the length of the longest for each.
    """
    if pd.api.types.is_integer_dtype(column) and not column.hasnans:
        texts: list[str | None] = [str(value) for value in column.tolist()]
    else:
        values = column.to_numpy(dtype=object, na_value=None)
        texts = [None if value is None or value != value else str(value).strip() or None for value in values.tolist()]
    if None in texts:
        raise ValueError(f"{name}, an id, must be given in every row, got nothing at row {texts.index(None)}")
    ids = [text for text in texts if text is not None]
    _require_short(name, ids)
    repeated = pd.Series(ids, dtype=object).duplicated().to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        raise ValueError(
            f"{name}, an id, must name each case once, got {brief(ids[row])} at row {ids.index(ids[row])} and at row "
            f"{row}, and {int(repeated.sum()):,} repeated ids in all"
        )
    return np.array(ids, dtype=str)


def _require_short(name: str, ids: list[str]) -> None:
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    row, longest = int(lengths.argmax()), int(lengths.max())
    if longest > MAX_ID_LENGTH:
        raise ValueError(f"{name}, an id, must have at most {MAX_ID_LENGTH} characters, got {longest:,} at row {row}")
    if 4 * longest * len(ids) > max(ID_ROOM, 8 * lengths.sum()):
        raise ValueError(f"{name} must hold ids of similar length, got one of {longest} characters at row {row}")


def plain_id(case: str) -> str:
    """An id without the folders and the ending of an image file, by which files of different programs are matched."""
    path = PurePath(case.replace("\\", "/"))
    is_image = path.suffix.lower() in {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp", ".gif"}
    return path.stem if is_image else path.name


def read_numbers(name: str, column: pd.Series, ids: np.ndarray) -> np.ndarray:
    """Finite numbers, (N,) float64, with a decimal point or, where no cell has a point, a decimal comma.

    ValueError names the first cell that is no finite number.
    """
    if is_text_column(column):
        numbers = _numbers_of_texts(name, column, ids)
    elif pd.api.types.is_bool_dtype(column):
        raise ValueError(f"{name} must hold numbers, got {brief(bool(column.iloc[0]))} at row 0 ({_shown(ids[0])})")
    else:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    require_finite(name, numbers, ids)
    return numbers


def _numbers_of_texts(name: str, column: pd.Series, ids: np.ndarray) -> np.ndarray:
    values = column.to_numpy(dtype=object, na_value=None)
    row = _bad_row(values.tolist())
    if row is not None:
        raise ValueError(f"{name} must hold numbers, got {brief(values[row])} at row {row} ({_shown(ids[row])})")
    return _parse(values)


def _parse(values: np.ndarray) -> np.ndarray:
    """Numbers of texts or numbers (N,), NaN where there is none."""
    numbers = _to_floats(values.tolist())
    if _has_commas(values[np.isnan(numbers)].tolist()):
        return _to_floats([_with_point(value) for value in values.tolist()])
    return numbers


def _to_floats(values: list[Any]) -> np.ndarray:
    return np.asarray(pd.to_numeric(pd.Series(values, dtype=object), errors="coerce"), dtype=np.float64)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _has_commas(values: list[Any]) -> bool:
    return any(isinstance(value, str) and _COMMA.fullmatch(value.strip()) for value in values)


def _with_point(value: Any) -> Any:
    return value.replace(",", ".", 1) if isinstance(value, str) and "." not in value else value


def _bad_row(values: list[Any]) -> int | None:
    """The first row whose value is neither a number nor missing."""
    numbers = _parse(np.array([*values, None], dtype=object)[:-1])
    has_point = any(isinstance(value, str) and "." in value for value in values)
    for row in np.flatnonzero(np.isnan(numbers) | np.array([isinstance(value, bool) for value in values])):
        value = values[row]
        is_missing = value is None or value != value or str(value).strip().casefold() in MISSING
        if isinstance(value, bool) or not is_missing:
            return int(row)
    if has_point and _has_commas(values):
        return next(row for row, value in enumerate(values) if _has_commas([value]))
    return None


def read_classes(
    name: str, column: pd.Series, known: tuple[str, ...], ids: np.ndarray, *, may_be_missing: bool
) -> np.ndarray:
    """Class names, or numbers from 0, as numbers (N,); -1 for a missing one, where that is allowed.

    ValueError if classes are named by numbers other than their indices, so that a number would be ambiguous; where
    the values only say whether an expert was right; or with the row of an unknown class.
    """
    places = {class_name.strip(): place for place, class_name in enumerate(known)}
    numbers = _class_numbers(column, places)
    if numbers is not None:
        _require_unambiguous(name, known)
        numbers = np.where(np.isnan(numbers), -1 if may_be_missing else np.nan, numbers)
        _require_given(name, np.isnan(numbers), ids)
        whole = numbers.astype(np.int64) if (np.abs(numbers) < 2**53).all() else numbers
        require_range(f"{name}, a class,", whole, -1 if may_be_missing else 0, len(known) - 1, ids)
        return whole
    texts = column.to_numpy(dtype=object, na_value=None)
    codes, distinct = pd.factorize(np.array([_trimmed(text, places) for text in texts.tolist()], dtype=object))
    if may_be_missing:
        _explain_truth(name, distinct, places)
    found = [_place(text, places, may_be_missing) for text in distinct]
    if None in found:
        row = int((codes == found.index(None)).argmax())
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, known[:20]))}, or a number from 0 to {len(known) - 1}; "
            f"got {brief(texts[row])} at row {row} ({_shown(ids[row])})"
        )
    if not may_be_missing:
        _require_given(name, codes < 0, ids)
    return np.array([*found, -1], dtype=np.int64)[codes]


def read_truth(name: str, column: pd.Series, ids: np.ndarray) -> np.ndarray:
    """Whether an expert was right, (N,): 1, 0, or -1 where it was not asked. ValueError names the row of others."""
    found = np.empty(len(column), dtype=np.int64)
    for row, text in enumerate(texts_of(column)):
        word = None if text is None or text == "-1" else text.casefold()
        if word is not None and word not in TRUTH:
            raise ValueError(
                f"{name} must say whether the expert was right, True or False, 1 or 0; got {brief(text)} at row {row} "
                f"({_shown(ids[row])})"
            )
        found[row] = -1 if word is None else TRUTH[word]
    return found


def _require_unambiguous(name: str, known: tuple[str, ...]) -> None:
    if any(text.isdecimal() and int(text) != k for k, text in enumerate(known)):
        raise ValueError(
            f"{name} has numbers, and so have the classes, {', '.join(map(repr, known[:20]))}, in another order than "
            "0, 1, 2, ...: a number could be a name or a place. Give the classes other names"
        )


def _require_given(name: str, is_missing: np.ndarray, ids: np.ndarray) -> None:
    if is_missing.any():
        row = int(is_missing.argmax())
        raise ValueError(f"{name} must be given in every row, got nothing at row {row} ({_shown(ids[row])})")


def _class_numbers(column: pd.Series, places: dict[str, int]) -> np.ndarray | None:
    """The numbers of a column that holds whole numbers alone, NaN where one is missing; else None."""
    if pd.api.types.is_bool_dtype(column):
        return None
    if not is_text_column(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers if (np.isnan(numbers) | (numbers == np.round(numbers))).all() else None
    distinct = pd.unique(column.to_numpy(dtype=object, na_value=None))
    texts = {value: _trimmed(value, places) for value in distinct.tolist()}
    given = [text for text in texts.values() if text is not None]
    if not given or not all(_WHOLE.fullmatch(text) and len(text) < 10 for text in given):
        return None
    numbers = {value: np.nan if text is None else float(text) for value, text in texts.items()}
    return np.array([numbers[value] for value in column.to_numpy(dtype=object, na_value=None).tolist()])


def _trimmed(value: Any, places: dict[str, int]) -> str | None:
    """A value as text; None for a missing one: nothing, or a word for it that is no class."""
    if value is None or value != value:
        return None
    text = str(value).strip()
    return None if text.casefold() in MISSING and text not in places else text


def _place(text: str, places: dict[str, int], may_be_missing: bool) -> int | None:
    """The class that a text names or numbers, -1 for an answer of "-1"; None for other texts."""
    if text in places:
        return places[text]
    if text.casefold() in ("true", "false"):  # spreadsheets write them in capitals
        return next((place for name, place in places.items() if name.casefold() == text.casefold()), None)
    if text == "-1" and may_be_missing:
        return -1
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) < len(places) else None


def _explain_truth(name: str, distinct: Any, places: dict[str, int]) -> None:
    """Raise ValueError where answers are True and False, which are no classes."""
    words = {str(text).casefold() for text in distinct}
    if words and words <= {"true", "false"} and not words & {known.casefold() for known in places}:
        raise ValueError(
            f"{name} holds True and False, which says whether the expert was right, not which class it named. Say so "
            "(--answers-are correct on the command line), or bring the answers themselves"
        )


def _shown(case: object) -> str:
    """An id as messages show it, without control characters."""
    text = str(case)
    return text if text.isprintable() else brief(text)
