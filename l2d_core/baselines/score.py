"""Score (Raghu and others 2019): an ordinary classifier defers the cases in which it is least confident."""

import numpy as np
from jaxtyping import Float64
from torch import Tensor

from l2d_core.baselines.classifier import class_confidence, class_loss, classifier_gradient
from l2d_core.lab.setup import HeadLoss
from l2d_core.surrogates.surrogate import check_batch, in_float32_or_better


def score_loss() -> HeadLoss:
    """Cross-entropy over the classes on all cases."""

    return classifier_gradient


def score_case_loss(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> Tensor:
    """The same loss for whole networks: logits (B, K+1), labels (B,), expert_correct (B, 1) bool; returns (B,) nats."""
    check_batch(logits, labels, expert_correct)
    return class_loss(in_float32_or_better(logits), labels)


def score_margin(logits: np.ndarray, temperature: float) -> Float64[np.ndarray, " N"]:
    """-max_k p_k, with the temperature fitted on validation: the least confident case goes first.

    It has no zero of its own, so that a budget is always used up: the floor(bN) least confident cases are deferred.
    logits (N, K+1); returns (N,).
    """
    return -class_confidence(logits, temperature)


def selective_margin(logits: np.ndarray, expert_right: float) -> Float64[np.ndarray, " N"]:
    """P(y = m) - max_k p_k, P(y = m) one number: the same classifier defers where the expert is on average better.

    Selective prediction with its threshold at the expert's accuracy. logits (N, K+1); returns (N,).
    """
    return expert_right - class_confidence(logits)
