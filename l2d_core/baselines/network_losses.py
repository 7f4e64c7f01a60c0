"""The paper's baselines as losses of whole networks, trained by the same loop as surrogates.

They are not surrogates of learning to defer: only compare-confidence estimates how likely the expert is right, and none
decides by the largest of its scores. Each method's own file says how it decides.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from l2d_core.baselines import METHODS
from l2d_core.baselines.confidence import confidence_case_loss, confidence_loss, confidence_validation_loss
from l2d_core.baselines.score import compare_case_loss, compare_loss, score_case_loss, score_loss
from l2d_core.baselines.triage import (
    triage_case_loss,
    triage_loss,
    triage_network_case_loss,
    triage_network_loss,
    triage_validation_loss,
)
from l2d_core.lab.setup import HeadBatch, HeadLoss
from l2d_core.surrogates import SURROGATES, Surrogate
from l2d_core.surrogates.softmax import class_probability

ONE_SEED = 0


def _batch(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> HeadBatch:
    """A batch (B, K+1) as the batch of a single head, its cases numbered from 0."""
    rows = torch.arange(len(labels))[None]
    return HeadBatch(logits[None], labels.long()[None], expert_correct[:, 0][None], rows, (ONE_SEED,))


def _gradient(head: Callable[..., HeadLoss]) -> Callable[..., Tensor]:
    """The gradient of a loss by the logits, (B, K+1): that of the heads. head: of number and options."""

    def gradient(logits: Tensor, labels: Tensor, expert_correct: Tensor, **given) -> Tensor:
        return head(**given)(_batch(logits, labels, expert_correct))[0]

    return gradient


def _probabilities(logits: Tensor, num_experts: int = 1) -> Tensor:
    """p_k of the classes, then sigmoid(g_d): (N, K+1) float64."""
    classes = class_probability(logits, num_experts)
    return torch.cat([classes, torch.sigmoid(logits[:, -num_experts:].double())], dim=1)


def _loss(
    name: str,
    loss: Callable[..., Tensor],
    head: Callable[..., HeadLoss],
    number: str = "",
    options: dict[str, float | str] | None = None,
    validation_loss: Callable[..., Tensor] | None = None,
) -> Surrogate:
    method = METHODS[name.removesuffix("_network")]
    return Surrogate(
        name=name,
        title=method.title,
        reference=method.reference,
        loss=loss,
        gradient=_gradient(head),
        class_probability=class_probability,
        probabilities=_probabilities,
        estimators={},
        is_bounded={},
        is_consistent=False,
        options=options or {},
        number=number,
        validation_loss=validation_loss,
    )


BUDGET: dict[str, float | str] = {"budget": 1.0}
# Name -> loss of networks with K+1 outputs, in the form of `SURROGATES`.
NETWORK_LOSSES: dict[str, Surrogate] = {
    "score": _loss("score", score_case_loss, score_loss),
    "compare_confidence": _loss("compare_confidence", compare_case_loss, compare_loss),
    "confidence": _loss(
        "confidence",
        confidence_case_loss,
        lambda number, budget=1.0: confidence_loss(budget, {ONE_SEED: float(number[0])}),
        "how often the expert is right, one number for all",
        BUDGET,
        confidence_validation_loss,
    ),
    "triage": _loss(
        "triage",
        triage_case_loss,
        lambda number, budget=1.0: triage_loss(budget, number.numpy()),
        "the expert's loss, -ln P(m = y | case)",
        BUDGET,
        triage_validation_loss,
    ),
    "triage_network": _loss(
        "triage_network",
        triage_network_case_loss,
        lambda number, **_source: triage_network_loss({ONE_SEED: number.numpy()}),
        "1 where the best triage defers it, else 0",
        {**BUDGET, "classifier": ""},
    ),
}
# All that a run can train.
LOSSES: dict[str, Surrogate] = {**SURROGATES, **NETWORK_LOSSES}
