"""What the live lab needs to know of a data set: how to load it, what its noise means, what is known of the truth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from l2d_core.config import HeadConfig
from l2d_core.data import Splits


@dataclass(frozen=True)
class Crowd:
    """People whose answers to the cases are recorded in files of their own, which are not shipped.

    names: who can be the expert in training -> in words. missing: (data_root) -> which files are not there, or "".
    answers: (data_root, ids, name, generator) -> (N,), one answer a case. right: (data_root, test ids, labels) ->
    (N,), the true P(a person is right | case), by which test answers are drawn. source: where the answers come from.
    tested_on: who answers in the test, in a sentence.
    """

    names: Mapping[str, str]
    missing: Callable[[Path], str]
    answers: Callable[[Path, np.ndarray, str, np.random.Generator], np.ndarray]
    right: Callable[[Path, np.ndarray, np.ndarray], np.ndarray]
    source: str
    tested_on: str = ""


@dataclass(frozen=True)
class LabDataset:
    """A data set small enough to train a head on in a second.

    load: (seed, noise) -> Splits with inputs (N, D) and no expert answers yet; the seed decides the split and the
    noise. noise_name says what `noise` is, with its unit; it runs from `min_noise` to `max_noise`.
    num_train: about how many training cases `load` gives; the split of groups moves it. head: settings that suit it.
    source: where the data come from, and the licence.
    class_probability: (inputs (N, D), noise) -> (N, K), the true P(y|x), where it is known.
    plane: () -> (G, 2), a square grid over the plane of the inputs, row by row, where they lie in one.
    class_titles: a class name that is an abbreviation -> in full.
    is_medical: pages must say that it is no diagnosis.
    people: who has answered the cases, where that is recorded.
    """

    title: str
    class_names: tuple[str, ...]
    load: Callable[[int, float], Splits]
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
