"""Measures of trained systems for each seed, to be compared in pairs, and as rows of a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from l2d_core.calibration import binned
from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.probabilities import classifier_pairs, estimators_of
from l2d_core.evaluation.summary import measure, over_seeds
from l2d_core.reproductions.reproduction import row
from l2d_core.reproductions.trained import TrainedSystems

BINS = 20  # of equal width, as in the authors' code
ECE_NOTE = f"ECE: {BINS} bins of equal width over all test cases, estimates above 1 set to 1, as in the authors' code."

Key = tuple[str, str, str, str]  # setting, surrogate, estimator, measure


class Value(NamedTuple):
    """A measure for one seed; share: its value, None over 0 cases, and its n."""

    setting: str
    surrogate: str
    estimator: str
    measure: str
    share: Statistic

    @property
    def key(self) -> Key:
        return self[:4]


Values = Sequence[Value]  # those of one key are in the order of the seeds


def measure_estimators(systems: Sequence[TrainedSystems], measures: Sequence[str]) -> list[Value]:
    """The numbers of `summary.measure` of these names for every estimator and seed."""
    values = []
    for one in systems:
        for surrogate, estimator in estimators_of(list(one.test)):
            for scores in one.test[surrogate]:
                found = measure(
                    scores, estimator, bins=BINS, strategy="equal_width", true_probability=one.true_probability
                )
                values += [Value(one.title, surrogate, estimator, name, found[name]) for name in measures]
    return values


def classifier_error(scores: Scores) -> Statistic:
    """The ECE of the machine's own confidence, over all test cases."""
    confidence, right = classifier_pairs(scores)
    return Statistic(binned.calibration_error(confidence, right, bins=BINS), len(right))


def rows_of(values: Values, paper: Mapping[Key, float] | None = None) -> list[dict[str, Any]]:
    """A row of a `Reproduction`'s table for each key. paper: the paper's numbers."""
    shares: dict[Key, list[Statistic]] = {}
    for one in values:
        shares.setdefault(one.key, []).append(one.share)
    rows = []
    for key, own in shares.items():
        mean, half_width = over_seeds(key[-1], [share.value for share in own])
        numbers = {
            **dict(zip(("setting", "surrogate", "estimator", "measure"), key, strict=True)),
            "mean": mean,
            "half_width": half_width,
            "n": float(np.mean([share.n for share in own])),
            "seeds": sum(share.value is not None for share in own),
        }
        rows.append(row(key[0], numbers, (paper or {}).get(key)))
    return rows


def pick(
    values: Iterable[Value], setting: str, estimator: str, measure: str, surrogate: str | None = None
) -> list[float | None]:
    """The numbers of one row, one per seed. surrogate: where the estimator has none. ValueError for no such row."""
    own = [
        one.share.value
        for one in values
        if (one.setting, one.estimator, one.measure) == (setting, estimator, measure)
        and surrogate in (None, one.surrogate)
    ]
    if not own:
        raise ValueError(f"there is no {measure} of {estimator or surrogate} in {setting!r}")
    return own


def mean_of(numbers: Sequence[float | None]) -> float:
    """The mean of those that are numbers; NaN where none is."""
    mean, _ = mean_and_interval(numbers)
    return float("nan") if mean is None else mean
