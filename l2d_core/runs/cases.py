"""The cases of a run, split, with the answers of its expert."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from l2d_core.common.checks import require_known
from l2d_core.common.json_fields import check_options
from l2d_core.common.seeds import numpy_generator, torch_generator
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.datasets import cifar10, digits, galaxy_zoo, ham10000, hate_speech, human_answers, voted_images
from l2d_core.datasets.ham10000 import images, split
from l2d_core.datasets.votes import Voters
from l2d_core.experts import stored_answers
from l2d_core.experts.simulated import expert_confusion, sample_answers
from l2d_core.experts.stored_answers import open_answers


def load_splits(config: RunConfig, data_root: str | os.PathLike) -> Splits:
    """The data set of a run, split by its split_seed, with the expert's answers, drawn once from its seed.

    ValueError on an unknown data set or option, an expert that does not fit it, and unusable data;
    FileNotFoundError, with ways to get them, if the data are not under data_root.
    """
    if config.expert.kind == "human":
        require_known("dataset, for an expert of kind 'human',", config.dataset, HUMAN_ANSWERS)
    stored = open_answers(config.expert.name) if config.expert.kind == "learned" else None
    if config.expert.is_simulated and config.dataset in CLASS_NAMES:
        expert_confusion(config.expert, len(CLASS_NAMES[config.dataset]))  # an expert that does not fit, at once
    splits = _load(config, Path(data_root))
    if stored is not None:
        return stored_answers.ask(splits, stored)
    if config.expert.kind == "human":
        generator = numpy_generator(config.seed, "human answers")
        return HUMAN_ANSWERS[config.dataset](splits, Path(data_root), config, generator)
    confusion = expert_confusion(config.expert, len(splits.train.class_names))
    if config.random_labels:
        splits = _with_random_labels(splits, config.seed)

    def ask(data: DeferralData, part: str) -> DeferralData:
        answers = sample_answers(confusion, data.labels, generator=torch_generator(config.seed, f"answers on {part}"))
        return replace(data, answers=answers[:, None])

    return Splits(ask(splits.train, "train"), ask(splits.validation, "validation"), ask(splits.test, "test"))


def describe_split(config: RunConfig, splits: Splits, data_root: str | os.PathLike) -> tuple[str, str]:
    """For HAM10000, the lesions and images in each part, in words, and a warning about the split; else "" twice.

    Errors as in `load_splits`.
    """
    if config.dataset != "ham10000":
        return "", ""
    table = ham10000.list_images(Path(data_root))
    row_of = {str(name): row for row, name in enumerate(table["id"])}
    parts = [
        np.array([row_of[str(name)] for name in data.ids]) for data in (splits.train, splits.validation, splits.test)
    ]
    warning = split.split_warning(table, parts)
    return split.describe_split(table, parts).removesuffix(f"; {warning}"), warning


def expert_probability(config: RunConfig, data: DeferralData, data_root: str | os.PathLike) -> np.ndarray:
    """P(m = y | case) of cases of the run's data set, (N,), from what its expert's answers are drawn from.

    ValueError for an expert of whom that is not known: a recorded one who answered each case once, or a learned one.
    """
    if config.expert.is_simulated:
        return expert_confusion(config.expert, len(data.class_names)).diagonal()[data.labels].numpy()
    if config.expert.kind != "human" or config.dataset not in VOTERS:
        raise ValueError(
            f"how likely the expert is right in a case is known of simulated experts, and of one of the voters on "
            f"{', '.join(VOTERS)}; got one of kind {config.expert.kind!r} on {config.dataset}"
        )
    voters = VOTERS[config.dataset](Path(data_root), **config.dataset_options)
    return voters.right(data.ids, data.labels.numpy())


def _with_random_labels(splits: Splits, seed: int) -> Splits:
    """Training and validation labels drawn uniformly over the classes; test labels are kept."""

    def draw(data: DeferralData, part: str) -> DeferralData:
        generator = torch_generator(seed, f"labels of {part}")
        return replace(data, labels=torch.randint(len(data.class_names), data.labels.shape, generator=generator))

    return Splits(draw(splits.train, "train"), draw(splits.validation, "validation"), splits.test)


def _load(config: RunConfig, data_root: Path) -> Splits:
    require_known("dataset", config.dataset, DATASETS)
    load = DATASETS[config.dataset]
    check_options(f"dataset {config.dataset!r}", load, config.dataset_options)
    return load(data_root, config.split_seed, **config.dataset_options)


def _digits(_data_root: Path, seed: int, noise: float = 0.0) -> Splits:
    """The digits of scikit-learn as images (1, 8, 8)."""
    splits = digits.load(seed, noise)
    parts = (splits.train, splits.validation, splits.test)
    return Splits(*(replace(data, inputs=data.inputs.view(-1, 1, 8, 8)) for data in parts))


def _annotator(splits: Splits, data_root: Path, config: RunConfig, generator: np.random.Generator) -> Splits:
    return human_answers.ask(splits, data_root, config.expert.name, generator=generator)


def _voter(find_voters: Callable[..., Voters]) -> Callable[..., Splits]:
    """The expert is one of the voters from find_voters(data_root, **options of the data set)."""

    def ask(splits: Splits, data_root: Path, config: RunConfig, generator: np.random.Generator) -> Splits:
        voters = find_voters(data_root, **config.dataset_options)
        return voters.ask(splits, config.expert.name, generator=generator)

    return ask


# Of the data sets whose classes are known before they are read.
CLASS_NAMES = {
    "cifar10": cifar10.CLASS_NAMES,
    "ham10000": ham10000.CLASS_NAMES,
    "hate_speech": hate_speech.CLASS_NAMES,
    "galaxy_zoo": galaxy_zoo.CLASS_NAMES,
}
# Each is called with (data_root, seed, **options).
DATASETS: dict[str, Callable[..., Splits]] = {
    "cifar10": cifar10.load,
    "digits": _digits,
    "ham10000": images.load,
    "hate_speech": hate_speech.load,
    "galaxy_zoo": galaxy_zoo.load,
    "voted_images": voted_images.load,
}
# Each is called with (data_root, **options of the data set).
VOTERS: dict[str, Callable[..., Voters]] = {
    "hate_speech": hate_speech.voters,
    "galaxy_zoo": galaxy_zoo.voters,
    "voted_images": voted_images.voters,
}
# Each is called with (splits, data_root, config, generator).
HUMAN_ANSWERS: dict[str, Callable[..., Splits]] = {
    "cifar10": _annotator,
    **{name: _voter(find_voters) for name, find_voters in VOTERS.items()},
}
