"""The live lab's settings, as one frozen, hashable value, and the bins of its results."""

from dataclasses import dataclass

from l2d_core.config import HeadConfig


@dataclass(frozen=True)
class LabSettings:
    """All that decides a fit of the live lab. accuracy: the expert's, a class, in 0..1; train_size: None for all.

    people: whose recorded answers the expert gives in training, a name of the data set's crowd; accuracy is empty then.
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
    """The bins of the reliability diagrams and of all that is computed in bins; strategy as in `calibration`."""

    bins: int = 15
    strategy: str = "equal_width"
