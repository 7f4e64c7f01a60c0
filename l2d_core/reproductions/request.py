"""The request for a reproduction: seeds, scale and, for whole networks, where to train them.

Each scale has notes on how it differs from the paper, which all results made at that scale share.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from l2d_core.common.checks import require_known
from l2d_core.config import RunConfig
from l2d_core.datasets import LAB_DATASETS, LabDataset

# The paper's CIFAR-10 network: no augmentation, stopped after 20 epochs without a lower validation loss. The batches
# are those of the authors' logs and code; the paper's text has 1,024.
WIDE_RESNET = RunConfig(
    model="wide_resnet",
    model_options={"depth": 28, "width": 4},
    epochs=200,
    batch_size=128,
    learning_rate=0.1,
    schedule="cosine_warmup",
    augment="none",
)
NETWORKS = {"cpu": RunConfig(), "paper": WIDE_RESNET}
SCALES = {
    "quick": "heads on shipped features, in seconds",
    "cpu": "whole small networks, minutes each on two cores",
    "paper": "wide residual networks as the paper's authors ran them, for a GPU",
}
LEAST_SEEDS = {"quick": 2, "cpu": 1, "paper": 3}

_QUICK = (
    "Quick: {kind} heads on fixed features ({title}), trained by AdamW for {epochs} epochs, not whole networks.",
    "Why a head's softmax can be further off than a whole network's: to be calibrated, softmax's deferral score has to "
    "follow ln P plus the log-sum-exp of the class scores, which bends with the image; that of one-vs-all only "
    "the log-odds of P. A small head cannot, on its own training cases either, where its softmax odds were found "
    "to have about the ECE that they have on test. Whole networks tell, where they are shown beside.",
    "Heads are trained to the end, on fewer cases than the paper's networks and without a stop by validation loss, so "
    "that with random data they learn some of the drawn labels by heart, and are too sure.",
    "A seed decides the order of the batches, first weights and the expert's answers, in training and on test; the "
    "split is the same for all. The paper's seeds draw first weights and batches, and answers anew in each batch.",
)
_PLAIN = (
    "Answers are drawn once for a run, in the authors' code anew in each batch; batch norm is evaluated with running "
    "statistics, in the authors' code with those of each batch; inputs are standardised by the training images."
)
_REFERENCE = (
    "As the authors ran it: answers are drawn anew in each batch, batch norm is evaluated with the statistics of each "
    "batch, losses are in bits. Inputs are standardised by the training images; in their code each split by its own. "
    "Test answers are drawn once for each seed, the same for both losses; in their logs one draw serves all seeds, "
    "so that their standard errors leave out that chance, and the last 16 of the 10,000 test images are missing. "
    "Training stops after 20 epochs without a lower validation loss, as in the text; in their code after 50."
)


@dataclass(frozen=True)
class Request:
    """The seeds, at least as many as in LEAST_SEEDS, and the scale, a name in SCALES.

    dataset: of the lab, on which heads are trained at the scale quick in place of CIFAR-10 images.
    folder: of the runs of whole networks, one folder each; data_root: their data sets.
    epochs: of whole networks, in place of the scale's. reference: as the paper's authors ran it, where that differs
        from what the paper says: `RunConfig.reference` for networks, and k as in `experiment.first_k`.
    where: further arguments of `cluster.run_many`, such as device, scheduler, workers, on_change.
    ValueError on too few or repeated seeds, an unknown scale or data set, or no folder for networks.
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
        least = LEAST_SEEDS[self.scale]
        if len(set(self.seeds)) < max(len(self.seeds), least):
            raise ValueError(f"seeds must be at least {least}, and differ, got {self.seeds}")
        require_known("dataset", self.dataset, LAB_DATASETS)
        if self.scale != "quick" and self.folder is None:
            raise ValueError(f"the scale {self.scale!r} trains whole networks, and needs a folder for them (--out)")

    @property
    def as_authors(self) -> bool:
        """Whether networks are trained as the paper's authors ran them."""
        return self.reference or self.scale == "paper"

    @property
    def data(self) -> LabDataset:
        """The data set of the heads."""
        return LAB_DATASETS[self.dataset]

    @property
    def network(self) -> RunConfig:
        """The settings of whole networks at this scale. ValueError at the scale quick, which has none."""
        require_known("scale, of whole networks,", self.scale, NETWORKS)
        config = replace(NETWORKS[self.scale], reference=self.as_authors)
        return config if self.epochs is None else replace(config, epochs=self.epochs)

    def only_quick(self, name: str) -> None:
        """Raise ValueError at another scale."""
        if self.scale != "quick":
            raise ValueError(f"{name} is made from what is shipped: there is only the scale quick, got {self.scale!r}")


def notes_of(request: Request, *own: str) -> tuple[str, ...]:
    """The notes of a result, then those of its scale."""
    if request.scale == "quick":
        data = request.data
        numbers = {"kind": data.head.kind, "title": data.title, "epochs": data.head.epochs}
        return (*own, *(note.format(**numbers) for note in _QUICK))
    config = request.network
    about = (
        f"Networks: {config.model}, {config.epochs} epochs at most, batches of {config.batch_size}, {config.schedule} "
        f"up to {config.learning_rate:g}, augmentation {config.augment!r}. The paper: wide_resnet 28-4, batches of "
        "1024 in the text and 128 in the authors' logs, cosine from 0.1, augmentation 'none'."
    )
    return (*own, about, _REFERENCE if request.as_authors else _PLAIN)
