"""Checks at the door: each names the argument, the rule and the first offender."""

import reprlib
from collections.abc import Collection

import numpy as np

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80
_BRIEF.maxlevel, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxdict = 3, 8, 8, 8
_SHOWN = 10  # names in a list


def brief(value: object) -> str:
    """A value as messages quote it: its repr, of which only the beginning and the end are left where it is long."""
    return _BRIEF.repr(value)


def list_names(names: Collection[str]) -> str:
    """Names from outside as messages list them: the first ten, and how many more there are."""
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


def _first(array: np.ndarray, bad: np.ndarray | np.bool_, ids: Collection | None) -> str:
    """The first bad value, and the row that it stands in where there are rows."""
    if array.ndim == 0:
        return brief(array.item())
    where = tuple(int(axis[0]) for axis in np.nonzero(bad))
    name_of_row = "" if ids is None else f" ({list(ids)[where[0]]})"
    return f"{brief(array[where].tolist())} at row {where[0]}{name_of_row}"
