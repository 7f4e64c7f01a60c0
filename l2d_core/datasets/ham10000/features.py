"""HAM10000's metadata as numbers for an expert: age standardised, sex and site one-hot, with unknown as a category."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float32

from l2d_core.datasets.ham10000.values import CONFIRMATIONS, MAX_AGE_YEARS, SEXES, SITES, UNKNOWN

CATEGORIES = {"sex": (*SEXES, UNKNOWN), "localization": (*SITES, UNKNOWN)}
REFERENCE_CATEGORIES = {**CATEGORIES, "dx_type": (*CONFIRMATIONS, UNKNOWN)}
REFERENCE_WARNING = (
    "dx_type is an input, as in the authors' code: how a diagnosis was confirmed tells much of the diagnosis (in "
    "HAM10000 all malignant images are histo), so the scores are too good"
)


@dataclass(frozen=True)
class AgeScale:
    """Mean and standard deviation, in years, of the known ages of the training part; both 0 where none is known."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.deviation) and self.deviation >= 0):
            raise ValueError(f"mean and deviation must be finite, and deviation at least 0, got {self}")

    def apply(self, years: np.ndarray) -> np.ndarray:
        """(years - mean) / deviation; 0 where years is NaN, and everywhere where the deviation is 0."""
        if self.deviation == 0:
            return np.zeros_like(years)
        return np.nan_to_num((years - self.mean) / self.deviation, nan=0.0)


def fit_age_scale(table: pd.DataFrame) -> AgeScale:
    """The scale of the ages in a table, which should be the training part."""
    years = _years(table)
    known = years[~np.isnan(years)]
    return AgeScale(float(known.mean()), float(known.std())) if len(known) else AgeScale(0.0, 0.0)


def feature_names(*, reference: bool = False) -> tuple[str, ...]:
    """The names of the features, in their order: "age", "age=unknown", "sex=male", ..."""
    categories = REFERENCE_CATEGORIES if reference else CATEGORIES
    return ("age", "age=unknown", *(f"{column}={value}" for column, values in categories.items() for value in values))


def metadata_features(
    table: pd.DataFrame, ages: AgeScale, *, reference: bool = False
) -> tuple[Float32[np.ndarray, "N F"], tuple[str, ...]]:
    """The features (N, F), always finite, and their F names.

    table: age, sex and localization as `read_metadata` and `list_images` give them. ages: the training part's.
    An unknown age is set to the mean, 0, and marked by "age=unknown". reference=True adds dx_type, as the authors did,
    which leaks the answer (REFERENCE_WARNING). ValueError names an unknown value and its row.
    """
    categories = REFERENCE_CATEGORIES if reference else CATEGORIES
    missing = [column for column in ("age", *categories) if column not in table]
    if missing:
        raise ValueError(f"table must have the columns {', '.join(missing)}; it has {', '.join(map(str, table))}")
    years = _years(table)
    columns = [ages.apply(years)[:, None], np.isnan(years)[:, None]]
    columns += [_one_hot(table, column, values) for column, values in categories.items()]
    return np.hstack(columns).astype(np.float32), feature_names(reference=reference)


def _years(table: pd.DataFrame) -> np.ndarray:
    """Ages (N,), NaN where unknown."""
    years = np.full(len(table), np.nan)
    for row, text in enumerate(table["age"]):
        if text != UNKNOWN:
            years[row] = _number(text)
            if not 0 <= years[row] <= MAX_AGE_YEARS:
                raise ValueError(
                    f"age must lie in 0..{MAX_AGE_YEARS} years or be {UNKNOWN!r}, got {text!r} at row {row}"
                )
    return years


def _number(text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        return np.nan


def _one_hot(table: pd.DataFrame, column: str, values: tuple[str, ...]) -> np.ndarray:
    given = table[column].to_numpy(dtype=object)
    hot = given[:, None] == np.array(values, dtype=object)[None, :]
    strangers = np.flatnonzero(~hot.any(axis=1))
    if len(strangers):
        row = strangers[0]
        raise ValueError(f"{column} must be one of {', '.join(values)}; got {given[row]!r} at row {row}")
    return hot
