"""What the live lab needs to know about a data set: how to load it, what its noise is, and the true probabilities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from l2d_core.config import HeadConfig

if TYPE_CHECKING:
    from l2d_core.data import Splits


@dataclass(frozen=True)
class Crowd:
    """People whose answers to the cases are recorded.

    names: who can be the expert in training -> in words. missing: (data_root) -> which files are missing, or "".
    answers: (data_root, ids, name, generator) -> (N,), one answer per case. right: (data_root, test ids, labels) ->
    (N,), the true P(a person is right | case), from which test answers are drawn. source: where the answers come from.
    tested_on: who answers the test cases, in a sentence.
    """

    names: Mapping[str, str]
    missing: Callable[[Path], str]
    answers: Callable[[Path, np.ndarray, str, np.random.Generator], np.ndarray]
    right: Callable[[Path, np.ndarray, np.ndarray], np.ndarray]
    source: str
    tested_on: str = ""


@dataclass(frozen=True)
class LabDataset:
    """A data set small enough to train a head on it in a second.

    load: (seed, noise) -> Splits with inputs (N, D) and no expert answers yet; the seed decides the split and the
    noise. noise_name: what `noise` is, with its unit; it lies in `min_noise`..`max_noise`.
    num_train: the approximate number of training cases, which varies with the split of groups. head: its settings.
    source: where the data come from, and the licence.
    class_probability: (inputs (N, D), noise) -> (N, K), the true P(y|x), where it is known.
    plane: () -> (G, 2), a square grid over the plane of two-dimensional inputs, row by row.
    class_titles: abbreviated class name -> the full one.
    is_medical: whether pages must say that nothing is a diagnosis.
    people: who has answered the cases, where answers are recorded.
    """

    title: str
    class_names: tuple[str, ...]
    load: "Callable[[int, float], Splits]"
    num_train: int
    noise_name: str
    max_noise: float
    default_noise: float
    source: str
    head: HeadConfig = field(default_factory=HeadConfig)
    min_noise: float = 0.0
    class_probability: Callable[[np.ndarray, float], np.ndarray] | None = None
    plane: Callable[[], np.ndarray] | None = None
    class_titles: Mapping[str, str] = field(default_factory=dict)
    is_medical: bool = False
    people: Crowd | None = None
