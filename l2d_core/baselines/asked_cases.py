"""A data set with an expert's answers for several seeds, on which all methods are trained and tested."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.common.seeds import torch_generator
from l2d_core.data import DeferralData, Splits
from l2d_core.experts.simulated import check_confusion, sample_answers

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class AskedCases:
    """answers: part -> (S, N), the expert's answers to its cases, one row per seed.

    expert_probability: (N,), P(m = y | case) of the training cases; only differentiable triage needs it.
    ValueError on shapes that do not fit.
    """

    splits: Splits
    seeds: tuple[int, ...]
    answers: Mapping[str, np.ndarray]
    expert_probability: np.ndarray

    def __post_init__(self) -> None:
        for part in PARTS:
            require_known("answers", part, self.answers)
            data: DeferralData = getattr(self.splits, part)
            require_shape(f"answers[{part!r}]", self.answers[part], (len(self.seeds), len(data)))
        require_shape("expert_probability", self.expert_probability, (len(self.splits.train),))
        require_range("expert_probability", self.expert_probability, 0, 1)

    def people(self) -> Callable[[np.ndarray, int], np.ndarray]:
        """The answers as `lab.fit` takes them, by case and seed."""
        ids = np.concatenate([np.asarray(getattr(self.splits, part).ids).astype(str) for part in PARTS])
        said = np.concatenate([self.answers[part] for part in PARTS], axis=1).astype(np.int64)
        place = {name: column for column, name in enumerate(ids.tolist())}
        row = {seed: number for number, seed in enumerate(self.seeds)}
        return lambda names, seed: said[row[seed], [place[str(name)] for name in names]]

    def expert_right(self, part: str) -> dict[int, float]:
        """Seed -> the share of the part's cases in which the expert was right."""
        labels = getattr(self.splits, part).labels.numpy()
        return dict(zip(self.seeds, (self.answers[part] == labels).mean(axis=1).tolist(), strict=True))


def ask_simulated(splits: Splits, confusion: Tensor, seeds: Sequence[int]) -> AskedCases:
    """An expert who answers by P(answer | true class), confusion (K, K); drawn as `lab.fit` draws."""
    confusion = check_confusion(confusion)

    def draw(part: str, seed: int) -> np.ndarray:
        purpose = "answers" if part == "train" else f"{part} answers"
        labels = getattr(splits, part).labels
        return sample_answers(confusion, labels, generator=torch_generator(seed, purpose)).numpy()

    answers = {part: np.stack([draw(part, seed) for seed in seeds]) for part in PARTS}
    right = confusion.diagonal()[splits.train.labels].numpy()
    return AskedCases(splits, tuple(seeds), answers, right)


def ask_people(
    splits: Splits,
    answers: Callable[[np.ndarray, int], np.ndarray],
    right: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seeds: Sequence[int],
) -> AskedCases:
    """People who have answered. answers: (ids, seed) -> (N,); right: (ids, labels) -> (N,), P(m = y | case)."""

    def ids(part: str) -> np.ndarray:
        return np.asarray(getattr(splits, part).ids).astype(str)

    said = {part: np.stack([np.asarray(answers(ids(part), seed)) for seed in seeds]) for part in PARTS}
    return AskedCases(splits, tuple(seeds), said, np.asarray(right(ids("train"), splits.train.labels.numpy())))


def extra_points(cases: AskedCases) -> Tensor:
    """The inputs of training and validation cases, one after the other."""
    return torch.cat([cases.splits.train.inputs, cases.splits.validation.inputs])
