"""The setup of a fit of the live lab: data, expert and losses, checked before the first step."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from l2d_core.common.checks import require_known
from l2d_core.common.seeds import torch_generator
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData
from l2d_core.experts.simulated import check_confusion, sample_answers
from l2d_core.surrogates import SURROGATES, check_option_values

# Recorded answers: (ids (N,), seed) -> (N,) in 0..K-1.
People = Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class HeadBatch:
    """The training cases of a step, for S seeds: logits (S, B, K+1), labels (S, B), correct (S, B) bool.

    rows (S, B): the cases' rows in the training data, and seeds: so that a loss can look up more about its cases.
    """

    logits: Tensor
    labels: Tensor
    correct: Tensor
    rows: Tensor
    seeds: tuple[int, ...]


# A loss of heads that is not a surrogate: the gradient of each case's loss with respect to its logits, (S, B, K+1).
HeadLoss = Callable[[HeadBatch], Tensor]


@dataclass(frozen=True)
class LabExpert:
    """The expert of a fit: either a confusion matrix (K, K), P(answer | label), or the recorded answers of people."""

    confusion: Tensor | None
    people: People | None

    def answer(self, data: DeferralData, labels: Tensor, seed: int, purpose: str) -> Tensor:
        """The answers (N,) of a seed to cases with these labels; the purpose separates training from test answers."""
        if self.confusion is not None:
            return sample_answers(self.confusion, labels, generator=torch_generator(seed, purpose))
        assert self.people is not None  # `_check_expert`
        return torch.from_numpy(self.people(np.asarray(data.ids), seed))


@dataclass(frozen=True)
class HeadLosses:
    """The losses of a fit by name: surrogates with their options, and losses that are not surrogates."""

    names: tuple[str, ...]
    options: Mapping[str, Mapping[str, float | str]]
    others: Mapping[str, HeadLoss]

    def gradient(self, name: str, batch: HeadBatch) -> Tensor:
        """The gradient of each case's loss with respect to its logits, (S, B, K+1)."""
        if name in self.others:
            return self.others[name](batch)
        correct, options = batch.correct[..., None], self.options.get(name, {})
        return SURROGATES[name].gradient(batch.logits, batch.labels, correct, **options)


@dataclass(frozen=True)
class LabSetup:
    """The arguments of `lab.fit`, except for the seeds. redraw_answers: in each epoch.

    stop: set once nobody wants the fit any more.
    """

    train: DeferralData
    test: DeferralData
    expert: LabExpert
    losses: HeadLosses
    config: HeadConfig
    random_labels: bool
    extra_inputs: Tensor | None
    redraw_answers: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def width(self) -> int:
        """Logits per case: the classes, and the one expert."""
        return len(self.train.class_names) + 1


@dataclass(frozen=True)
class AnsweredCases:
    """Training cases of S seeds, each in its own order: rows, labels and correct ("the expert is right") (S, B)."""

    seeds: tuple[int, ...]
    rows: Tensor
    labels: Tensor
    correct: Tensor

    def shuffled(self, order: Tensor) -> "AnsweredCases":
        """In another order, (S, N), for cases that are still in the order of the training data."""
        return AnsweredCases(self.seeds, order, self.labels.gather(1, order), self.correct.gather(1, order))

    def part(self, which: slice) -> "AnsweredCases":
        """Some of the cases of each seed."""
        return AnsweredCases(self.seeds, self.rows[:, which], self.labels[:, which], self.correct[:, which])


@dataclass(frozen=True)
class Layer:
    """A layer of S heads: outputs = weight inputs + bias; weight (S, out, in), bias (S, out)."""

    weight: np.ndarray
    bias: np.ndarray


def answer_training_cases(setup: LabSetup, seeds: tuple[int, ...]) -> AnsweredCases:
    """The training cases with the labels and the expert's answers of each seed, from generators of its own."""
    train, labels, correct = setup.train, [], []
    for seed in seeds:
        own = train.labels
        if setup.random_labels:
            own = torch.randint(setup.width - 1, own.shape, generator=torch_generator(seed, "labels"))
        labels.append(own)
        correct.append(setup.expert.answer(train, own, seed, "answers") == own)
    rows = torch.arange(len(train)).expand(len(seeds), -1)
    return AnsweredCases(seeds, rows, torch.stack(labels), torch.stack(correct))


def redraw_answers(setup: LabSetup, cases: AnsweredCases, epoch: int) -> AnsweredCases:
    """The same cases, with the answers that each seed's expert gives in this epoch."""
    pairs = zip(cases.seeds, cases.labels, strict=True)
    purpose = f"answers of epoch {epoch}"
    correct = [setup.expert.answer(setup.train, own, seed, purpose) == own for seed, own in pairs]
    return replace(cases, correct=torch.stack(correct))


def check_setup(setup: LabSetup, seeds: Sequence[int]) -> None:
    """Raise ValueError where losses, data, expert and points do not fit together; it names the argument."""
    _check_losses(setup.losses)
    names, train, test = setup.losses.names, setup.train, setup.test
    if not len(seeds) or not len(names):
        raise ValueError(f"seeds and surrogates must not be empty, got {len(seeds)} and {len(names)}")
    if len(set(names)) < len(names):
        raise ValueError(f"surrogates must be named once each, got {', '.join(names)}")
    if train.inputs.ndim != 2 or train.inputs.shape[1:] != test.inputs.shape[1:]:
        raise ValueError(
            "train.inputs and test.inputs must be (N, D) with one D, "
            f"got {tuple(train.inputs.shape)} and {tuple(test.inputs.shape)}"
        )
    if train.class_names != test.class_names:
        raise ValueError(f"train and test must share class_names, got {train.class_names} and {test.class_names}")
    _check_expert(setup)
    extra = setup.extra_inputs
    if extra is not None and (extra.ndim != 2 or extra.shape[1] != train.inputs.shape[1]):
        raise ValueError(f"extra_inputs must be (G, {train.inputs.shape[1]}), got {tuple(extra.shape)}")


def _check_expert(setup: LabSetup) -> None:
    confusion, people, width = setup.expert.confusion, setup.expert.people, len(setup.train.class_names)
    if (confusion is None) == (people is None):
        raise ValueError("the expert must be either a confusion or people, and not both")
    if people is not None and setup.redraw_answers:
        raise ValueError("redraw_answers needs a confusion: people have answered once")
    if people is not None and setup.random_labels:
        raise ValueError("random_labels need a confusion: people have answered by the true labels")
    if confusion is not None and check_confusion(confusion).shape != (width, width):
        raise ValueError(f"confusion must be ({width}, {width}) for {width} classes, got {tuple(confusion.shape)}")


def _check_losses(losses: HeadLosses) -> None:
    """Raise ValueError on an unknown surrogate, or an unknown option of one; it lists the known ones."""
    for name in losses.names:
        require_known("surrogates", name, [*SURROGATES, *losses.others])
    for name in losses.others:
        if name in SURROGATES:
            raise ValueError(f"losses must have names of their own, got that of the surrogate {name!r}")
    for name, options in losses.options.items():
        require_known("options", name, SURROGATES)
        for option in options:
            require_known(f"options of {name}", option, SURROGATES[name].options)
        check_option_values(SURROGATES[name], options)
