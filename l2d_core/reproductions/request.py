"""What is asked of a reproduction: the seeds, the scale, and, for whole networks, where to train them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from l2d_core.common.checks import require_known
from l2d_core.config import RunConfig
from l2d_core.datasets import LAB_DATASETS, LabDataset

# The paper's CIFAR-10 network: no augmentation, stopped after 20 epochs without a lower validation loss.
WIDE_RESNET = RunConfig(
    model="wide_resnet",
    model_options={"depth": 28, "width": 4},
    epochs=200,
    batch_size=1024,
    learning_rate=0.1,
    schedule="cosine_warmup",
    augment="none",
)
NETWORKS = {"cpu": RunConfig(), "paper": WIDE_RESNET}
SCALES = {
    "quick": "heads on shipped features, in seconds",
    "cpu": "whole small networks, minutes each on two cores",
    "paper": "wide residual networks with the paper's settings, for a GPU",
}


@dataclass(frozen=True)
class Request:
    """The seeds and the scale, a name in SCALES. At the scale quick at least 2 seeds: there is no interval for one.

    dataset: of the lab, on which heads are trained at the scale quick in place of CIFAR-10 images.
    folder: where whole networks are trained, a folder each, to go on from; data_root: their data sets.
    epochs: of whole networks, in place of the scale's. reference: as the paper's authors ran it, where that differs
        from what the paper says: `RunConfig.reference` for networks, and k as of `experiment.first_k`.
    where: further arguments of `cluster.run_many`, as device, scheduler, workers, on_change.
    ValueError on too few seeds, seeds that come twice, an unknown scale or data set, or no folder for networks.
    """

    seeds: tuple[int, ...]
    scale: str = "quick"
    dataset: str = "cifar10"
    folder: Path | None = None
    data_root: Path = Path("data")
    epochs: int | None = None
    reference: bool = False
    where: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", tuple(self.seeds))
        require_known("scale", self.scale, SCALES)
        least = 2 if self.scale == "quick" else 1
        if len(set(self.seeds)) < max(len(self.seeds), least):
            raise ValueError(f"seeds must be at least {least}, and differ, got {self.seeds}")
        require_known("dataset", self.dataset, LAB_DATASETS)
        if self.scale != "quick" and self.folder is None:
            raise ValueError(f"the scale {self.scale!r} trains whole networks, and needs a folder for them (--out)")

    @property
    def data(self) -> LabDataset:
        """The data set of the heads."""
        return LAB_DATASETS[self.dataset]

    @property
    def network(self) -> RunConfig:
        """The settings of whole networks at this scale; ValueError at the scale quick, which has none."""
        require_known("scale, of whole networks,", self.scale, NETWORKS)
        config = replace(NETWORKS[self.scale], reference=self.reference)
        return config if self.epochs is None else replace(config, epochs=self.epochs)

    def only_quick(self, name: str) -> None:
        """Raise ValueError at another scale."""
        if self.scale != "quick":
            raise ValueError(f"{name} is made from what is shipped: there is only the scale quick, got {self.scale!r}")
