"""Differentiable triage (Okati and others 2021): losses fix who decides in training; that is then learned.

The classifier is trained on the cases that the best triage for a budget leaves to it, computed for each batch from
the classifier's losses at that step; a separate network is then fitted to the triage of all training cases.
"""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float64
from scipy import special
from torch import Tensor
from torch.nn import functional

from l2d_core.baselines.classifier import case_shares, class_loss, classifier_gradient, sent_away
from l2d_core.common.checks import ArrayLike, as_floats
from l2d_core.evaluation.deferral import defer_by_budget
from l2d_core.lab.setup import HeadBatch, HeadLoss
from l2d_core.surrogates.surrogate import check_batch, in_float32_or_better

LEAST_PROBABILITY = 1e-6  # of a right answer, in its logarithm


def expert_loss(expert_probability: ArrayLike) -> Float64[np.ndarray, " N"]:
    """-ln P(m = y | case), the expert's negative log likelihood in nats; P below 1e-6 counts as that. (N,) to (N,)."""
    return -np.log(np.maximum(as_floats("expert_probability", expert_probability), LEAST_PROBABILITY))


def triage_loss(budget: float, losses: np.ndarray) -> HeadLoss:
    """Cross-entropy over the classes, on a batch less the min(floor(bB), n) cases that gain most from the expert.

    The gain is the classifier's loss less the expert's; n counts the cases in which it is positive.
    losses (N,): `expert_loss` of all training cases.
    """
    known = torch.from_numpy(np.asarray(losses, dtype=np.float32))

    def gradient(batch: HeadBatch) -> Tensor:
        gain = class_loss(batch.logits, batch.labels) - known[batch.rows]
        return classifier_gradient(batch, ~sent_away(gain, budget))

    return gradient


def triage_case_loss(
    logits: Tensor, labels: Tensor, expert_correct: Tensor, *, number: Tensor, budget: float = 1.0
) -> Tensor:
    """The same loss for whole networks: its mean over a batch is that over the cases that the machine keeps.

    logits (B, K+1), labels (B,), expert_correct (B, 1) bool; number (B,): `expert_loss`. Returns (B,) nats.
    """
    check_batch(logits, labels, expert_correct)
    losses = class_loss(in_float32_or_better(logits), labels)
    used = ~sent_away((losses.detach() - number)[None], budget)[0]
    return case_shares(used) * losses


def triage_validation_loss(
    logits: Tensor, labels: Tensor, expert_correct: Tensor, *, number: Tensor, budget: float = 1.0
) -> Tensor:
    """The loss of who decides each case in the best triage: the expert's if sent away, else the classifier's.

    Its mean is over all cases, so that networks which send away different ones can be compared by it. Arguments as in
    `triage_case_loss`; returns (B,) nats.
    """
    check_batch(logits, labels, expert_correct)
    own = class_loss(in_float32_or_better(logits), labels)
    return torch.where(sent_away((own - number)[None], budget)[0], number.to(own.dtype), own)


def best_triage(machine_loss: np.ndarray, losses: np.ndarray, budget: float) -> Bool[np.ndarray, " N"]:
    """Defer the min(floor(bN), n) cases that gain most, n those where the expert's loss is below the machine's."""
    return defer_by_budget(as_floats("machine_loss", machine_loss) - losses, budget, forced=False)


def triage_network_loss(decisions: Mapping[int, np.ndarray]) -> HeadLoss:
    """Binary cross-entropy of sigmoid(g_d) with a triage decision; the class scores get nothing.

    decisions: seed -> (N,) bool, `best_triage` of all training cases.
    """
    known = {seed: torch.from_numpy(own.astype(np.float32)) for seed, own in decisions.items()}

    def gradient(batch: HeadBatch) -> Tensor:
        targets = torch.stack([known[seed][rows] for seed, rows in zip(batch.seeds, batch.rows, strict=True)])
        slope = torch.zeros_like(batch.logits)
        slope[..., -1] = torch.sigmoid(batch.logits[..., -1]) - targets
        return slope

    return gradient


def triage_network_case_loss(
    logits: Tensor, labels: Tensor, expert_correct: Tensor, *, number: Tensor, **_source: object
) -> Tensor:
    """The same loss for whole networks; it does not depend on the options, which name the triage to learn.

    logits (B, K+1), labels (B,), expert_correct (B, 1) bool; number (B,): 1 where `best_triage` defers, else 0.
    Returns (B,) nats.
    """
    check_batch(logits, labels, expert_correct)
    logits = in_float32_or_better(logits)
    return functional.binary_cross_entropy_with_logits(logits[:, -1], number.to(logits.dtype), reduction="none")


def triage_margin(logits: np.ndarray) -> Float64[np.ndarray, " N"]:
    """sigmoid(g_d) - 1/2 of the triage network: positive where it would defer. logits (N, K+1); returns (N,)."""
    return special.expit(as_floats("logits", logits, (None, None))[:, -1]) - 0.5
