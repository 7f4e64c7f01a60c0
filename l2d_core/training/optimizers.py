"""Optimisers, and the learning rate of each step as a plain function of its number.

Not torch's schedulers: their state would have to be in every checkpoint, and those already written do not have it.
"""

import math
from collections.abc import Callable, Iterable

import torch
from torch import nn

from l2d_core.config import RunConfig

ONE_CYCLE_RISE = 0.3  # of the steps
ONE_CYCLE_START = 1 / 25  # of the peak
ONE_CYCLE_END = 1 / 250_000


def make_optimizer(config: RunConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimiser of a config for these parameters; weight decay is on all of them.

    "sgd" is Nesterov's; "adam" adds the decay to the gradient, "adamw" takes it from the weights.
    """
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    common = {"lr": config.learning_rate, "weight_decay": config.weight_decay, "fused": fused}
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, momentum=config.momentum, nesterov=config.momentum > 0, **common)
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[config.optimizer]
    return kind(parameters, betas=(config.momentum, 0.999), **common)


def learning_rate_at(config: RunConfig, step: int, steps_an_epoch: int) -> float:
    """The learning rate of step 0, 1, ..., epochs * steps_an_epoch - 1."""
    total = config.epochs * steps_an_epoch
    return config.learning_rate * _SHAPES[config.schedule](step, total, config.warmup_epochs * steps_an_epoch)


def _cosine_warmup(step: int, total: int, warmup: int) -> float:
    """A line up to 1, reached at the end of the warm-up, then half a cosine that would be 0 one step too late."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return _cosine(1, 0, (step - warmup) / (total - warmup))


def _one_cycle(step: int, total: int, _warmup: int) -> float:
    """Half a cosine from 1/25 up to 1, and another one down to 1/250,000 at the last step. Source: Smith 2018."""
    peak = max(1, round(ONE_CYCLE_RISE * total) - 1)
    if step < peak:
        return _cosine(ONE_CYCLE_START, 1, step / peak)
    return _cosine(1, ONE_CYCLE_END, (step - peak) / max(1, total - 1 - peak))


def _constant(_step: int, _total: int, _warmup: int) -> float:
    return 1.0


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


_SHAPES: dict[str, Callable[[int, int, int], float]] = {
    "cosine_warmup": _cosine_warmup,
    "one_cycle": _one_cycle,
    "constant": _constant,
}
