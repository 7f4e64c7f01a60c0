"""An ordinary classifier as a head of the lab: cross-entropy over the classes, on those cases that a rule picks."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int
from scipy import optimize, special
from torch import Tensor

from l2d_core.common.checks import as_floats
from l2d_core.evaluation.deferral import num_within_budget
from l2d_core.lab.setup import HeadBatch

TEMPERATURES = (0.02, 50.0)


def classifier_gradient(batch: HeadBatch, used: Tensor | None = None) -> Tensor:
    """The gradient of -ln p_y by the logits, p = softmax over the K class logits; the deferral score gets none.

    used (S, B) bool: the other cases get none, and the used ones B / (number used) times as much, so that the step is
    that of the mean over the used cases; where none is used there is no step. Returns (S, B, K+1).
    """
    slope = torch.zeros_like(batch.logits)
    slope[..., :-1] = torch.softmax(batch.logits[..., :-1], dim=-1)
    slope.scatter_add_(-1, batch.labels[..., None], torch.full_like(slope[..., :1], -1.0))
    if used is not None:
        slope *= case_shares(used)[..., None]
    return slope


def case_shares(used: Tensor) -> Tensor:
    """What each case of a batch counts: B / (number used) if used, else 0. used (..., B) bool; returns (..., B)."""
    return used / used.float().mean(dim=-1, keepdim=True).clamp(min=1 / used.shape[-1])


def sent_away(gain: Tensor, budget: int | float) -> Tensor:
    """The min(floor(bB), n) cases of a batch with the largest gain, n those whose gain is positive; (S, B) bool.

    The same rule as `deferral.defer_by_budget`, capped, for each seed's batch: in a tie the lower column goes first.
    gain (S, B); budget b in 0..1, else ValueError.
    """
    allowed = (gain > 0).sum(dim=1, keepdim=True).clamp(max=num_within_budget(budget, gain.shape[1]))
    order = torch.sort(gain, dim=1, descending=True, stable=True).indices
    place = torch.arange(gain.shape[1], device=gain.device).expand_as(order)
    return torch.zeros_like(gain, dtype=torch.bool).scatter_(1, order, place < allowed)


def class_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """-ln p_y in nats: logits (..., K+1), labels (...) integer; returns (...)."""
    log_p = torch.log_softmax(logits[..., :-1], dim=-1)
    return -log_p.gather(-1, labels.long()[..., None])[..., 0]


def class_confidence(logits: np.ndarray, temperature: float = 1.0) -> Float64[np.ndarray, " N"]:
    """max_k p_k, p = softmax(g / T) over the K class logits. logits (N, K+1); a temperature never changes the class."""
    scores = as_floats("logits", logits, (None, None))[:, :-1]
    return special.softmax(scores / temperature, axis=1).max(axis=1)


def fit_temperature(logits: np.ndarray, labels: Int[np.ndarray, " N"]) -> float:
    """T in 0.02..50 of the least mean -ln p_y, p = softmax(g / T) over the K class logits, on held-out cases.

    logits (N, K+1), labels (N,). Source: Guo and others 2017.
    """
    scores, rows = as_floats("logits", logits, (len(labels), None))[:, :-1], np.arange(len(labels))

    def loss(log_t: float) -> float:
        return -float(special.log_softmax(scores / np.exp(log_t), axis=1)[rows, labels].mean())

    found: Any = optimize.minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded")
    return float(np.exp(found.x))
