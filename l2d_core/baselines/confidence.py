"""Confidence (Bansal and others 2021): a classifier for the cases that an expert of one accuracy leaves to it."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from l2d_core.baselines.classifier import case_shares, class_confidence, class_loss, classifier_gradient, sent_away
from l2d_core.baselines.triage import LEAST_PROBABILITY
from l2d_core.common.checks import require_known
from l2d_core.lab.setup import HeadBatch, HeadLoss
from l2d_core.surrogates.surrogate import check_batch, in_float32_or_better

BATCH_RULES = {
    "kept": "train on all of a batch but the min(floor(bB), n) cases in which the expert gains most",
    "as_written": "train on the min(floor(bB), n) cases in which the expert gains least, as the paper's text has it",
}


def confidence_loss(budget: float, expert_right: Mapping[int, float], *, rule: str = "kept") -> HeadLoss:
    """Cross-entropy over the classes, on the part of each batch left to the machine within the budget b.

    The gain of a case is P(y = m) - max_k p_k, with the classifier as it is at that step; n counts those above 0.
    rule: a name in BATCH_RULES. The method's public code trains on what is not sent away ("kept"); the rule in the
    paper's text ("as_written") trains on nothing at b = 0, or while the classifier is everywhere surer than the expert.
    expert_right: seed -> P(y = m), one number, from the training cases. ValueError on another rule.
    """
    require_known("rule", rule, BATCH_RULES)

    def gradient(batch: HeadBatch) -> Tensor:
        right = torch.tensor([expert_right[seed] for seed in batch.seeds])[:, None]
        gain = _gain(batch.logits, right)
        used = ~sent_away(gain, budget) if rule == "kept" else _least(gain, budget)
        return classifier_gradient(batch, used)

    return gradient


def _gain(logits: Tensor, right: Tensor) -> Tensor:
    """P(y = m) - max_k p_k; logits (..., K+1)."""
    return right - torch.softmax(logits[..., :-1], dim=-1).amax(dim=-1)


def confidence_case_loss(
    logits: Tensor, labels: Tensor, expert_correct: Tensor, *, number: Tensor, budget: float = 1.0
) -> Tensor:
    """The same loss, by the rule "kept", for whole networks: its mean over a batch is that over the used cases.

    logits (B, K+1), labels (B,), expert_correct (B, 1) bool; number (B,): P(y = m), the same for all.
    Returns (B,) nats.
    """
    check_batch(logits, labels, expert_correct)
    logits = in_float32_or_better(logits)
    used = ~sent_away(_gain(logits.detach(), number)[None], budget)[0]
    return case_shares(used) * class_loss(logits, labels)


def confidence_validation_loss(
    logits: Tensor, labels: Tensor, expert_correct: Tensor, *, number: Tensor, budget: float = 1.0
) -> Tensor:
    """The loss of who decides each case by the rule "kept": -ln p_y if the machine does, and of a case sent away
    -ln p if the expert is right in it, else -ln(1 - p), with p = P(y = m) in 1e-6..1 - 1e-6.

    Its mean is over all cases, so that networks which send away different ones can be compared by it. Arguments as in
    `confidence_case_loss`; returns (B,) nats.
    """
    check_batch(logits, labels, expert_correct)
    logits = in_float32_or_better(logits)
    p = number.to(logits.dtype).clamp(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    expert = -torch.where(expert_correct[:, 0], p, 1 - p).log()
    return torch.where(sent_away(_gain(logits, number)[None], budget)[0], expert, class_loss(logits, labels))


def _least(gain: Tensor, budget: float) -> Tensor:
    """The min(floor(bB), n) cases with the lowest gain, n those whose gain is positive."""
    allowed = sent_away(gain, budget).sum(dim=1, keepdim=True)
    order = torch.sort(gain, dim=1, stable=True).indices
    place = torch.arange(gain.shape[1]).expand_as(order)
    return torch.zeros_like(gain, dtype=torch.bool).scatter_(1, order, place < allowed)


def confidence_margin(logits: np.ndarray, expert_right: float) -> Float64[np.ndarray, " N"]:
    """P(y = m) - max_k p_k: sorted by it, the least confident case goes first. logits (N, K+1); returns (N,)."""
    return expert_right - class_confidence(logits)
