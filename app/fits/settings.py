"""The live lab's settings, as one frozen, hashable value, and the bins of its results."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from l2d_core.config import HeadConfig

if TYPE_CHECKING:
    from l2d_core.datasets import LabDataset


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

    @classmethod
    def plain(cls, name: str, dataset: "LabDataset", accuracy: tuple[float, ...], num_seeds: int) -> "LabSettings":
        """Those that the lab opens with for a data set, but for the expert's accuracy and the number of seeds."""
        return cls(
            dataset=name,
            accuracy=accuracy,
            wrong="others",
            noise=dataset.default_noise,
            random_labels=False,
            train_size=None,
            head=dataset.head,
            alpha=1.0,
            num_seeds=num_seeds,
            seed=0,
            with_asymmetric=False,
        )

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
