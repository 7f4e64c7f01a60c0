"""A surrogate: a loss to train with, estimators that read the logits, and checks of their arguments."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class Surrogate:
    """A trainable stand-in for the 0-1 loss of learning to defer: pure functions and their properties.

    loss: (logits (N, K+J), labels (N,), expert_correct (N, J), **options) -> (N,) nats; the caller averages.
    gradient: the same arguments -> (N, K+J), the derivative of each case's loss by its logits in closed form,
        for training where automatic differentiation would take most of the time.
    class_probability: (logits, num_experts=1) -> (N, K) float64.
    probabilities: (logits, num_experts=1) -> (N, K+J) float64, all scores on the scale on which the surrogate compares
        them: the same order within a case as the logits, and the scale by which cases are ordered for deferral.
    estimators: name -> (logits, num_experts=1) -> (N, J) float64, estimates of P(an expert is right | x),
        raw: never clipped to 1; the first is the default.
    is_bounded: name of an estimator -> it lies in [0, 1] for any logits.
    is_consistent: with the default options, the minimiser of the population risk decides as the Bayes rule.
    options: the keyword options of `loss`, with their defaults.
    number: in words, what `loss` and `gradient` take for each case as a further keyword `number` (N,); "" for
        nothing, as for every loss that learns to defer from the answers alone.
    validation_loss: called as `loss`, in its place on validation cases, where epochs are compared; None: `loss`.
        For a loss that counts only some cases of a batch, so that its mean says nothing about the others.
    formula: the loss in LaTeX. caveats: what a reader of its numbers should know, in single sentences.
    """

    name: str
    title: str
    reference: str
    loss: Callable[..., Tensor]
    gradient: Callable[..., Tensor]
    class_probability: Callable[..., Tensor]
    probabilities: Callable[..., Tensor]
    estimators: dict[str, Callable[..., Tensor]]
    is_bounded: dict[str, bool]
    is_consistent: bool
    options: dict[str, float | str] = field(default_factory=dict)
    number: str = ""
    validation_loss: Callable[..., Tensor] | None = None
    formula: str = ""
    caveats: tuple[str, ...] = ()


def check_option_values(surrogate: Surrogate, options: Mapping[str, object]) -> None:
    """Raise ValueError where an option of the loss should be a finite number and is not."""
    for name, value in options.items():
        if isinstance(surrogate.options[name], str):
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number:
            raise ValueError(f"{name} of surrogate {surrogate.name!r} must be a finite number, got {value!r}")


def check_batch(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> None:
    """Raise ValueError unless the three fit together; takes microseconds, so every loss calls it.

    logits (N, K+J) floating with K >= 2; labels (N,) integer in 0..K-1; expert_correct (N, J) bool, J >= 1;
    N may be 0. Labels are checked on the CPU only: on an accelerator each step would wait for that.
    The values of logits are not read: a NaN passes through a loss, and the training loop checks that it is finite.
    """
    if expert_correct.ndim != 2 or expert_correct.shape[1] < 1 or expert_correct.dtype != torch.bool:
        raise ValueError(f"expert_correct must be bool of shape (N, J) with J >= 1, got {_describe(expert_correct)}")
    num_cases, num_experts = expert_correct.shape
    _check_logits_shape(logits, num_experts)
    if len(logits) != num_cases:
        raise ValueError(f"logits must have as many rows as expert_correct, {num_cases}, got {len(logits)}")
    if labels.shape != (num_cases,) or labels.dtype not in _INTEGERS:
        raise ValueError(f"labels must be integers of shape ({num_cases},), got {_describe(labels)}")
    if labels.device.type == "cpu":
        _check_labels_range(labels, logits.shape[1] - num_experts)


def check_logits(logits: Tensor, num_experts: int) -> Tensor:
    """The logits (N, K+J) in float64, for an estimator; ValueError names a wrong shape, NaN or infinity."""
    _check_logits_shape(logits, num_experts)
    finite = torch.isfinite(logits)
    if not finite.all():
        row, column = (~finite).nonzero()[0].tolist()
        raise ValueError(f"logits must be finite, got {logits[row, column].item()} at row {row}, column {column}")
    return logits.double()


def in_float32_or_better(logits: Tensor) -> Tensor:
    """The logits as they are, or in float32 where they came in half precision: no loss uses less."""
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _check_logits_shape(logits: Tensor, num_experts: int) -> None:
    if num_experts < 1:
        raise ValueError(f"num_experts must be at least 1, got {num_experts}")
    if logits.ndim != 2 or logits.shape[1] < num_experts + 2 or not logits.is_floating_point():
        raise ValueError(
            f"logits must be floating of shape (N, K+J) with J = {num_experts} and K >= 2, got {_describe(logits)}"
        )


def _check_labels_range(labels: Tensor, num_classes: int) -> None:
    if labels.numel() == 0:
        return
    low, high = torch.aminmax(labels)
    if int(low) < 0 or int(high) >= num_classes:
        row = int(((labels < 0) | (labels >= num_classes)).nonzero()[0])
        raise ValueError(
            f"labels must lie in 0..{num_classes - 1} for {num_classes} classes, got {int(labels[row])} at row {row}"
        )


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
