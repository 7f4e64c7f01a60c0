"""What all heads of a fit of the live lab share, checked before the first step."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from l2d_core.common.checks import require_known
from l2d_core.common.seeds import torch_generator
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData
from l2d_core.experts.simulated import check_confusion, sample_answers
from l2d_core.surrogates import SURROGATES, check_option_values

People = Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class HeadBatch:
    """The training cases of a step, for S seeds: logits (S, B, K+1), labels (S, B), correct (S, B) bool.

    rows (S, B): which training cases they are; seeds: of these S, so that a loss may know more of its cases.
    """

    logits: Tensor
    labels: Tensor
    correct: Tensor
    rows: Tensor
    seeds: tuple[int, ...]


# A loss of heads that is no surrogate: the gradient of each case's loss by its logits, (S, B, K+1); not averaged.
HeadLoss = Callable[[HeadBatch], Tensor]


@dataclass(frozen=True)
class LabJob:
    """The arguments of `lab.fit`, but for the seeds; stop: set where nobody wants the fit any more."""

    train: DeferralData
    test: DeferralData
    confusion: Tensor | None
    people: People | None
    surrogates: tuple[str, ...]
    config: HeadConfig
    options: Mapping[str, Mapping[str, float | str]]
    random_labels: bool
    extra_inputs: Tensor | None
    losses: Mapping[str, HeadLoss] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def width(self) -> int:
        """Logits a case: the classes, and the one expert."""
        return len(self.train.class_names) + 1

    def gradient(self, name: str, batch: HeadBatch) -> Tensor:
        """Of each case's loss by its logits, (S, B, K+1), for the surrogate or loss of that name."""
        if name in self.losses:
            return self.losses[name](batch)
        correct, options = batch.correct[..., None], self.options.get(name, {})
        return SURROGATES[name].gradient(batch.logits, batch.labels, correct, **options)


def check_job(job: LabJob, seeds: Sequence[int]) -> None:
    """Raise ValueError where data, expert and points do not fit together; it names the argument."""
    train, test, width = job.train, job.test, len(job.train.class_names)
    if not len(seeds) or not len(job.surrogates):
        raise ValueError(f"seeds and surrogates must not be empty, got {len(seeds)} and {len(job.surrogates)}")
    if len(set(job.surrogates)) < len(job.surrogates):
        raise ValueError(f"surrogates must be named once each, got {', '.join(job.surrogates)}")
    if train.inputs.ndim != 2 or train.inputs.shape[1:] != test.inputs.shape[1:]:
        raise ValueError(
            "train.inputs and test.inputs must be (N, D) with one D, "
            f"got {tuple(train.inputs.shape)} and {tuple(test.inputs.shape)}"
        )
    if train.class_names != test.class_names:
        raise ValueError(f"train and test must share class_names, got {train.class_names} and {test.class_names}")
    _check_expert(job, width)
    extra = job.extra_inputs
    if extra is not None and (extra.ndim != 2 or extra.shape[1] != train.inputs.shape[1]):
        raise ValueError(f"extra_inputs must be (G, {train.inputs.shape[1]}), got {tuple(extra.shape)}")


def _check_expert(job: LabJob, width: int) -> None:
    if (job.confusion is None) == (job.people is None):
        raise ValueError("the expert must be either a confusion or people, and not both")
    if job.people is not None and job.random_labels:
        raise ValueError("random_labels need a confusion: people have answered by the true labels")
    if job.confusion is not None and check_confusion(job.confusion).shape != (width, width):
        raise ValueError(f"confusion must be ({width}, {width}) for {width} classes, got {tuple(job.confusion.shape)}")


def ask(job: LabJob, data: DeferralData, labels: Tensor, seed: int, purpose: str) -> Tensor:
    """The expert's answers (N,) of a seed, to cases that have these labels."""
    if job.confusion is not None:
        return sample_answers(job.confusion, labels, generator=torch_generator(seed, purpose))
    assert job.people is not None  # `_check_expert`
    return torch.from_numpy(job.people(np.asarray(data.ids), seed))


def check_names(
    surrogates: Sequence[str], options: Mapping[str, Mapping[str, float | str]], losses: Mapping[str, HeadLoss]
) -> None:
    """Raise ValueError on an unknown surrogate, or an unknown option of one; it lists the known ones."""
    for name in surrogates:
        require_known("surrogates", name, [*SURROGATES, *losses])
    for name in losses:
        if name in SURROGATES:
            raise ValueError(f"losses must have names of their own, got that of the surrogate {name!r}")
    for name, own in options.items():
        require_known("options", name, SURROGATES)
        for option in own:
            require_known(f"options of {name}", option, SURROGATES[name].options)
        check_option_values(SURROGATES[name], own)
