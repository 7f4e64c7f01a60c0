"""The live lab's settings, as one frozen, hashable value, and the bins of its results."""

from dataclasses import dataclass

from l2d_core.config import HeadConfig


@dataclass(frozen=True)
class LabSettings:
    """All that determines a fit of the live lab. accuracy: the expert's, per class, in 0..1; train_size: None for all.

    people: name of the recorded answers that are the expert's in training; accuracy is empty then.
    """

    dataset: str
    accuracy: tuple[float, ...]
    wrong: str
    noise: float
    random_labels: bool
    train_size: int | None
    head: HeadConfig
    alpha: float
    num_seeds: int
    seed: int
    with_asymmetric: bool
    people: str = ""

    @property
    def surrogates(self) -> tuple[str, ...]:
        both = ("softmax", "one_vs_all")
        return (*both, "asymmetric_softmax") if self.with_asymmetric else both

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(range(self.seed, self.seed + self.num_seeds))


@dataclass(frozen=True)
class Binning:
    """The bins of reliability diagrams and of everything computed in bins; strategy as in `calibration`."""

    bins: int = 15
    strategy: str = "equal_width"
