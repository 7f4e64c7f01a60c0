"""Checks of arguments: each error names the argument, the rule and the first value that breaks it."""

import reprlib
from collections.abc import Collection
from typing import Any

import numpy as np

# Whatever np.asarray accepts; numpy's own ArrayLike refuses a tuple of floats when types are checked at run time.
ArrayLike = Any

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80
_BRIEF.maxlevel, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxdict = 3, 8, 8, 8
_SHOWN = 10  # names in a list


def brief(value: object) -> str:
    """A value as messages quote it: its repr, with the middle left out if it is long."""
    return _BRIEF.repr(value)


def list_names(names: Collection[str]) -> str:
    """Names as messages list them: the first ten, and the number of the others."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(brief(name) for name in list(names)[:_SHOWN]) + more


def require_shape(name: str, array: np.ndarray, expected: tuple[int | None, ...]) -> None:
    """Raise ValueError unless `array` has the shape `expected`; None allows any length on that axis."""
    fits = array.ndim == len(expected) and all(
        want is None or have == want for have, want in zip(array.shape, expected, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in expected) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {tuple(array.shape)}")


def require_range(name: str, array: np.ndarray, low: float, high: float, ids: Collection | None = None) -> None:
    """Raise ValueError at the first value that is NaN or outside [low, high]; `ids` names its row."""
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise ValueError(f"{name} must lie in {low:g}..{high:g}, got {_first(array, bad, ids)}")


def require_finite(name: str, array: np.ndarray, ids: Collection | None = None) -> None:
    """Raise ValueError at the first NaN or infinity; `ids` names its row."""
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"{name} must be finite, got {_first(array, bad, ids)}")


def require_known(name: str, value: str, known: Collection[str]) -> None:
    """Raise ValueError unless `value` is one of `known`, which the message lists."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {brief(value)}")


def as_floats(name: str, values: ArrayLike, shape: tuple[int | None, ...] = (None,)) -> np.ndarray:
    """The values in float64; ValueError names a wrong type or shape, or the first NaN or infinity."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise ValueError(f"{name} must be numbers: {problem}") from problem
    require_shape(name, array, shape)
    require_finite(name, array)
    return array


def as_flags(name: str, values: ArrayLike, length: int) -> np.ndarray:
    """The values as bool (length,); ValueError on another type: 0 and 1 might be row numbers."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(f"{name} must be bool, got {array.dtype}")
    require_shape(name, array, (length,))
    return array


def _first(array: np.ndarray, bad: np.ndarray | np.bool_, ids: Collection | None) -> str:
    """The first bad value, and its row if there are rows."""
    if array.ndim == 0:
        return brief(array.item())
    where = tuple(int(axis[0]) for axis in np.nonzero(bad))
    name_of_row = "" if ids is None else f" ({list(ids)[where[0]]})"
    return f"{brief(np.asarray(array[where]).tolist())} at row {where[0]}{name_of_row}"
