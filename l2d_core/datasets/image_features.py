"""Real images in the live lab: the shipped feature banks of HAM10000 and CIFAR-10, with their splits."""

from functools import cache
from pathlib import Path

import numpy as np
import torch

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets import cifar10, ham10000, human_answers
from l2d_core.datasets.feature_bank import FeatureBank, bank_path
from l2d_core.datasets.lab_dataset import Crowd, LabDataset

GROUP_FRACTIONS = (0.6, 0.2, 0.2)
VALIDATION_FRACTION = 0.1


def load_splits(name: str, seed: int = 0, noise: float = 0.0) -> Splits:
    """The bank `name`, one of BANKS, in training, validation and test, features (N, D) float32.

    Without a published split: 60/20/20 of the groups (such as lesions), stratified by class. With one: its test part,
    and 10 % of its training part for validation. The seed decides what is drawn.
    noise: standard deviation of Gaussian noise on each feature, as a multiple of that feature's own over the bank.
    """
    if not 0 <= noise < float("inf"):
        raise ValueError(f"noise must be at least 0 and finite, got {noise}")
    bank, whole = _whole(name)
    if noise:
        scale = noise * whole.inputs.std(dim=0)
        draws = numpy_generator(seed, "noise").standard_normal(whole.inputs.shape, dtype=np.float32)
        whole = DeferralData.unasked(
            whole.inputs + scale * torch.from_numpy(draws), whole.labels, whole.ids, whole.class_names
        )
    return Splits(*(whole.subset(rows) for rows in _split(bank, seed)))


@cache
def _whole(name: str) -> tuple[FeatureBank, DeferralData]:
    bank = FeatureBank.load(bank_path(name))
    inputs = torch.from_numpy(bank.features.astype(np.float32))
    return bank, DeferralData.unasked(inputs, torch.from_numpy(bank.labels), bank.ids, bank.class_names)


def _split(bank: FeatureBank, seed: int) -> list[np.ndarray]:
    generator = numpy_generator(seed, "split")
    if not (bank.parts == "test").any():
        return split_by_group(bank.groups, bank.labels, GROUP_FRACTIONS, generator=generator)
    published = np.flatnonzero(bank.parts == "train")
    fractions = (1 - VALIDATION_FRACTION, VALIDATION_FRACTION)
    parts = split_by_group(bank.groups[published], bank.labels[published], fractions, generator=generator)
    return [*(published[part] for part in parts), np.flatnonzero(bank.parts == "test")]


HAM10000 = LabDataset(
    title="HAM10000: skin lesions",
    class_names=ham10000.CLASS_NAMES,
    load=lambda seed, noise: load_splits("ham10000", seed, noise),
    num_train=6000,
    noise_name="Noise on the features (in standard deviations)",
    max_noise=2.0,
    default_noise=0.0,
    source="Tschandl, Rosendahl and Kittler 2018, doi 10.7910/DVN/DBW86T, CC BY-NC 4.0. Split by lesion; "
    "several images of one lesion are not independent. The features' components were fitted, without labels, on the "
    "training part of seed 0",
    class_titles={
        "akiec": "akiec: actinic keratosis",
        "bcc": "bcc: basal cell carcinoma",
        "bkl": "bkl: benign keratosis",
        "df": "df: dermatofibroma",
        "mel": "mel: melanoma",
        "nv": "nv: melanocytic nevus (mole)",
        "vasc": "vasc: vascular lesion",
    },
    is_medical=True,
)


def _answers(data_root: Path, ids: np.ndarray, name: str, generator: np.random.Generator) -> np.ndarray:
    if name == EACH:
        name = human_answers.ANNOTATORS[generator.integers(len(human_answers.ANNOTATORS))]
    return human_answers.recorded_answers(data_root, ids, name, generator=generator)


def _right(data_root: Path, ids: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return human_answers.answer_distribution(data_root, ids)[np.arange(len(ids)), labels]


EACH = "each"
CIFAR10_PEOPLE = Crowd(
    names={
        **human_answers.ANNOTATOR_TITLES,
        EACH: "one of the three annotators, drawn for each seed",
    },
    missing=human_answers.what_is_missing,
    answers=_answers,
    right=_right,
    source="CIFAR-10N, Wei and others 2022, CC BY-NC 4.0 (training images); "
    "CIFAR-10H, Peterson and others 2019, CC BY-NC-SA 4.0 (test images)",
    tested_on="Tested on other people: for each seed and test image one answer is drawn from the about 51 that are "
    "recorded, so that P(the expert is right) is known image by image.",
)
CIFAR10 = LabDataset(
    title="CIFAR-10: small photographs",
    class_names=cifar10.CLASS_NAMES,
    load=lambda seed, noise: load_splits("cifar10", seed, noise),
    num_train=9000,
    noise_name="Noise on the features (in standard deviations)",
    max_noise=2.0,
    default_noise=0.0,
    source="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
    people=CIFAR10_PEOPLE,
)
