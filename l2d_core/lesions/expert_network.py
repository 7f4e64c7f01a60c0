"""The learned expert of HAM10000: trained, compared with the paper's, and stored in a folder with its answers."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from l2d_core.common.files import write_whole
from l2d_core.common.json_fields import Option, check_options, parse_json
from l2d_core.common.seeds import torch_generator
from l2d_core.config import RunConfig
from l2d_core.datasets.ham10000 import CLASS_NAMES, LICENCE, SOURCE, list_images
from l2d_core.datasets.ham10000 import images as ham10000_images
from l2d_core.datasets.ham10000.features import (
    REFERENCE_WARNING,
    AgeScale,
    feature_names,
    fit_age_scale,
    metadata_features,
)
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_images
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL
from l2d_core.experts.stored_answers import ANSWERS, PARTS, StoredAnswers
from l2d_core.lesions.expert_training import ExpertCases, ExpertEpoch, OnEpoch, fit, predict_logits
from l2d_core.models.mixer_expert import MixerExpert
from l2d_core.models.weights import UNREADABLE, build_with, halve_precision, small_tensors

EXPERT_VERSION = 1
WEIGHTS, METRICS = "model.safetensors", "metrics.json"
NAME, REFERENCE_NAME = "MLP-Mixer", "MLP-Mixer that sees dx_type"
# Precision of the paper's network by class; its recall is in `experts.simulated`.
PAPER_PRECISION = {"akiec": 0.44, "bcc": 0.47, "bkl": 0.52, "df": 0.33, "mel": 0.51, "nv": 0.82, "vasc": 0.27}
TRAINED_ON = (
    "The expert answers its own training images too: on those it is right more often than on others, and a system "
    "that is trained with these answers learns to trust it too much. The paper does the same"
)
_IMAGES: dict[str, Option] = {"height": 112, "width": 144, "split": "by_lesion"}
# The paper: Adam with these rates, but batches of 1024, images of 224 x 224, 5 epochs of warm-up, patience 20 and no
# stated number of epochs. Only the settings in _USED affect an expert.
SETTINGS = RunConfig(
    dataset="ham10000",
    dataset_options=_IMAGES,
    model="mixer_expert",
    epochs=12,
    batch_size=64,
    optimizer="adam",
    learning_rate=1e-3,
    weight_decay=5e-4,
    schedule="cosine_warmup",
    warmup_epochs=2,
    augment="crop_flip_colour",
    patience=20,
)
_USED = (
    "dataset_options",
    "split_seed",
    "epochs",
    "batch_size",
    "optimizer",
    "learning_rate",
    "momentum",
    "weight_decay",
    "schedule",
    "warmup_epochs",
    "augment",
    "precision",
    "patience",
    "seed",
)


@dataclass(frozen=True)
class LearnedExpert:
    """A trained expert network, on the CPU, with what its inputs depend on.

    ages: the scale of its training part. reference: whether dx_type, which leaks the answer, is an input.
    """

    network: MixerExpert
    image_size: tuple[int, int]
    ages: AgeScale
    reference: bool

    def metadata(self, table: pd.DataFrame) -> Tensor:
        """The metadata of N cases as the network's input, (N, M) float32. Raises what `metadata_features` raises."""
        return torch.from_numpy(metadata_features(table, self.ages, reference=self.reference)[0])

    def answer(self, images: Tensor, table: pd.DataFrame) -> np.ndarray:
        """The answer to each of N cases, (N,), in the order of CLASS_NAMES.

        images (N, 3, H, W) as from `read_image`, in its image size; table: age, sex and localization of the cases, as
        `list_images` gives them. ValueError on another size, and where `metadata_features` raises it.
        """
        if tuple(images.shape[1:]) != (3, *self.image_size):
            height, width = self.image_size
            raise ValueError(f"images must have shape (N, 3, {height}, {width}), got {tuple(images.shape)}")
        cases = ExpertCases(images, self.metadata(table), torch.zeros(len(images), dtype=torch.int64))
        return predict_logits(self.network, cases, device=torch.device("cpu")).argmax(1).numpy()


@dataclass(frozen=True)
class TrainedExpert:
    """The result of training: the expert, its answers to all images, their labels (N,), settings and epochs."""

    expert: LearnedExpert
    answers: StoredAnswers
    labels: np.ndarray
    config: RunConfig
    history: list[ExpertEpoch]


def train_expert(
    data_root: str | os.PathLike,
    config: RunConfig = SETTINGS,
    *,
    reference: bool = False,
    device: torch.device | None = None,
    on_epoch: OnEpoch = lambda report: None,
) -> TrainedExpert:
    """Train the paper's expert on the training part of HAM10000, and store its answers to all images.

    The split is that of `ham10000_images.load` with the config's split_seed. reference: dx_type is an input too, as in
    the authors' code. For the config see also `fit`. Raises what `list_images` and `split_rows` raise.
    """
    device, table = device or torch.device("cpu"), list_images(Path(data_root))
    check_options("dataset 'ham10000'", ham10000_images.load, config.dataset_options)
    options = {**_IMAGES, **config.dataset_options}
    rows = split_rows(table, config.split_seed, str(options["split"]))
    image_size = (int(options["height"]), int(options["width"]))
    ages = fit_age_scale(table.iloc[rows[0]])
    expert = LearnedExpert(_build(image_size, reference, config.seed), image_size, ages, reference)
    images = read_images(list(table["path"]), image_size)
    cases = ExpertCases(images, expert.metadata(table), torch.tensor(table["label"].to_numpy(), dtype=torch.int64))
    train, validation = (cases.subset(part) for part in rows[:2])
    history = fit(expert.network, train, validation, config, device=device, on_epoch=on_epoch)
    halve_precision(expert.network)
    return TrainedExpert(expert, _ask_all(expert, images, table, rows), cases.labels.numpy(), config, history)


def _ask_all(expert: LearnedExpert, images: Tensor, table: pd.DataFrame, rows: Sequence[np.ndarray]) -> StoredAnswers:
    expert.network.cpu()
    parts = np.empty(len(table), dtype="<U10")
    for part, members in zip(PARTS, rows, strict=True):
        parts[members] = part
    name = REFERENCE_NAME if expert.reference else NAME
    return StoredAnswers(expert.answer(images, table), table["id"].to_numpy(dtype=str), parts, CLASS_NAMES, name)


def class_table(answers: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """Recall and precision of each class beside the paper's, each with the number of cases behind it.

    answers, labels (N,) in the order of CLASS_NAMES. Columns: class, recall, cases, paper_recall, precision,
    answered, paper_precision; NaN for a share of no cases.
    """
    rows = []
    for number, name in enumerate(CLASS_NAMES):
        right = int(((answers == number) & (labels == number)).sum())
        cases, answered = int((labels == number).sum()), int((answers == number).sum())
        recall, precision = (right / count if count else np.nan for count in (cases, answered))
        paper = (DERMATOLOGIST_RECALL[name], PAPER_PRECISION[name])
        rows.append((name, recall, cases, paper[0], precision, answered, paper[1]))
    columns = ["class", "recall", "cases", "paper_recall", "precision", "answered", "paper_precision"]
    return pd.DataFrame(rows, columns=columns)


def save_expert(folder: str | os.PathLike, trained: TrainedExpert) -> None:
    """Write model.safetensors, answers.npz and metrics.json to a folder, replacing those of another expert."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_whole(Path(folder) / WEIGHTS, _encode(trained.expert))
    trained.answers.save(Path(folder) / ANSWERS)
    write_whole(Path(folder) / METRICS, json.dumps(_metrics(trained), indent=2, allow_nan=False).encode())


def load_expert(folder: str | os.PathLike) -> LearnedExpert:
    """The expert in a folder that `save_expert` wrote.

    FileNotFoundError where there is none; ValueError names the file where it is damaged, or of another kind or version.
    """
    path = Path(folder) / WEIGHTS
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            described = parse_json((file.metadata() or {}).get("expert") or "{}", "what it says of itself")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dict
        if not isinstance(described, dict) or described.get("version") != EXPERT_VERSION:
            raise ValueError(f"it is of no expert of version {EXPERT_VERSION}")
        height, width = described["image_size"]
        reference = described["reference"] is True
        network = build_with(lambda: _build((height, width), reference, seed=0), tensors)
        return LearnedExpert(network.eval(), (height, width), AgeScale(**described["ages"]), reference)
    except UNREADABLE as problem:
        reason = " ".join(str(problem).split())
        raise ValueError(f"the expert {path} cannot be read: {reason}") from problem


def _build(image_size: tuple[int, int], reference: bool, seed: int) -> MixerExpert:
    with torch.random.fork_rng(devices=[]):  # layers draw their initial weights from the global generator
        torch.default_generator.manual_seed(torch_generator(seed, "weights").initial_seed())
        return MixerExpert(len(CLASS_NAMES), image_size, len(feature_names(reference=reference)))


def _encode(expert: LearnedExpert) -> bytes:
    described = {
        "version": EXPERT_VERSION,
        "image_size": expert.image_size,
        "reference": expert.reference,
        "ages": asdict(expert.ages),
        "class_names": CLASS_NAMES,
        "metadata": feature_names(reference=expert.reference),
    }
    return save(small_tensors(expert.network), {"expert": json.dumps(described)})


def _metrics(trained: TrainedExpert) -> dict[str, Any]:
    notes = [TRAINED_ON, *([REFERENCE_WARNING] if trained.expert.reference else [])]
    parts = {part: trained.answers.parts == part for part in PARTS}
    right = trained.answers.answers == trained.labels
    tables = {part: class_table(trained.answers.answers[rows], trained.labels[rows]) for part, rows in parts.items()}
    return {
        "version": EXPERT_VERSION,
        "name": trained.answers.name,
        "data": f"{SOURCE}; {LICENCE}",
        "reference": trained.expert.reference,
        "notes": notes,
        "accuracy": {part: {"share": float(right[rows].mean()), "n": int(rows.sum())} for part, rows in parts.items()},
        "classes": {part: json.loads(str(table.to_json(orient="records"))) for part, table in tables.items()},
        "history": [asdict(report) for report in trained.history],
        "settings": {name: getattr(trained.config, name) for name in _USED},
    }
