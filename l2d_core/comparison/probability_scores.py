"""Probabilities of another program as logits, with a tolerance that follows from the decimals that are written."""

import numpy as np

from l2d_core.common.checks import require_range

ROW_SUM_TOLERANCE = 1e-5  # float32 rounding; a larger error means other numbers, or few digits
RANGE_TOLERANCE = 1e-6  # below 0 or above 1, by rounding
MIN_DIGITS, MAX_DIGITS = 2, 6  # decimals in which probabilities are written
SMALLEST = np.finfo(np.float64).tiny
LARGEST = 1 - np.finfo(np.float64).epsneg


def logits_of_probabilities(numbers: np.ndarray, surrogate: str, ids: np.ndarray | None = None) -> np.ndarray:
    """Logits (N, M) of probabilities in 0..1, as `to_scores` says; ValueError on a row that does not sum to 1."""
    if surrogate == "one_vs_all":
        return _log_odds(numbers)
    if surrogate == "asymmetric_softmax":
        return _asymmetric_logits(numbers, ids)
    _check_row_sums(numbers, surrogate, ids)
    return np.log(np.maximum(numbers, SMALLEST))


def clip_rounded(numbers: np.ndarray, names: tuple[str, ...], ids: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Probabilities (N, M) within 0..1, and what to note: values that rounding has put outside are moved to the edge.

    ValueError names the column and row of a value that is further outside.
    """
    for place, name in enumerate(names):
        column = numbers[:, place]
        near = np.clip(column, 0, 1)
        require_range(
            f"{name}, a probability,", np.where(np.abs(near - column) <= RANGE_TOLERANCE, near, column), 0, 1, ids
        )
    outside = int(((numbers < 0) | (numbers > 1)).sum())
    note = (f"{outside:,} probabilities lie outside 0..1 by rounding, and were moved to the edge",) if outside else ()
    return np.clip(numbers, 0, 1), note


def decimals_note(numbers: np.ndarray) -> tuple[str, ...]:
    """What to note of probabilities (N, M) whose rows sum to 1 only up to the decimals with which they are written."""
    digits, off = decimals(numbers), float(np.abs(numbers.sum(axis=1) - 1).max(initial=0))
    if digits is None or off <= ROW_SUM_TOLERANCE:
        return ()
    return (f"the probabilities have {digits} decimals: rows sum to 1 within {off:.2g}, which rounding explains",)


def decimals(numbers: np.ndarray) -> int | None:
    """The number of decimals, MIN_DIGITS to MAX_DIGITS, with which all numbers are written; None for more or fewer."""
    for digits in range(MAX_DIGITS + 1):
        scaled = numbers * 10.0**digits
        if (np.abs(scaled - np.round(scaled)) <= 1e-6 * 10.0 ** min(digits - 2, 0)).all():
            return digits if digits >= MIN_DIGITS else None
    return None


def sum_tolerance(numbers: np.ndarray) -> float:
    """How far the sum of a row of M numbers may be from 1: half of the last written digit for each."""
    digits = decimals(numbers)
    rounding = 0.0 if digits is None else 0.5 * numbers.shape[1] * 10.0**-digits + 1e-9
    return max(ROW_SUM_TOLERANCE, rounding)


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
    bad = ~(np.abs(total - 1) <= sum_tolerance(numbers))
    if bad.any():
        row = int(bad.argmax())
        known = "" if ids is None else f" ({ids[row]})"
        raise ValueError(
            f"the probabilities of {surrogate} must sum to 1 in each row, got {total[row]:.6g} at row {row}{known}, "
            f"and in {bad.sum():,} rows: are they logits, or of one_vs_all?"
        )
