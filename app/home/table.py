"""The numbers that Home shows: read from a shipped file, so that neither torch nor pandas has to be imported first."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from l2d_core.common.paths import PRETRAINED

PATH = PRETRAINED / "home.json"
DATASET = "cifar10"
ESTIMATORS = ("odds", "sigmoid")
KNOWN, UNKNOWN = 5, 20  # classes that the expert knows; in how many percent of the others they are right
ACCURACIES = tuple(range(20, 101, 5))
DEFAULT = 75  # with UNKNOWN the first expert of the paper
SEEDS = 8


@dataclass(frozen=True)
class Numbers:
    """What an estimator says of one expert, shares in 0..1, means over SEEDS trainings.

    ece, ece_by_chance: as in `summarise`; above_one: share of estimates above 1; right_above_one: share of those in
    which the expert is right, None where there are none; bins: mean estimate, share right and number of cases.
    """

    ece: float
    ece_by_chance: float
    above_one: float
    right_above_one: float | None
    bins: Sequence[tuple[float, float, float]]


def of_expert(percent: int) -> Mapping[str, Numbers]:
    """By estimator, for one of ACCURACIES."""
    return {name: Numbers(**one) for name, one in _content()["experts"][str(percent)].items()}


def num_test_cases() -> int:
    """The number of test photographs behind each number."""
    return _content()["test_cases"]


@cache
def _content() -> Mapping[str, Any]:
    return json.loads(PATH.read_text(encoding="utf-8"))
