"""A classifier that defers where it is least confident (score), below a threshold (selective prediction), or where it
is less confident than an estimate of the expert being right (compare confidence). Source: Raghu and others 2019.
"""

import numpy as np
import torch
from jaxtyping import Float64
from scipy import special
from torch import Tensor
from torch.nn import functional

from l2d_core.baselines.classifier import class_confidence, class_loss, classifier_gradient
from l2d_core.common.checks import as_floats
from l2d_core.lab.setup import HeadBatch, HeadLoss
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

    It has no natural zero, so a budget is always used up: the floor(bN) least confident cases are deferred.
    logits (N, K+1); returns (N,).
    """
    return -class_confidence(logits, temperature)


def selective_margin(logits: np.ndarray, expert_right: float) -> Float64[np.ndarray, " N"]:
    """P(y = m) - max_k p_k, P(y = m) one number: the same classifier defers where the expert is on average better.

    Selective prediction with its threshold at the expert's accuracy. logits (N, K+1); returns (N,).
    """
    return expert_right - class_confidence(logits)


def compare_loss() -> HeadLoss:
    """Cross-entropy over the classes, plus binary cross-entropy of sigmoid(g_d) with "the expert is right".

    A linear head learns both independently; a hidden layer they share.
    """

    def gradient(batch: HeadBatch) -> Tensor:
        slope = classifier_gradient(batch)
        slope[..., -1] = torch.sigmoid(batch.logits[..., -1]) - batch.correct.float()
        return slope

    return gradient


def compare_case_loss(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> Tensor:
    """The same loss for whole networks: logits (B, K+1), labels (B,), expert_correct (B, 1) bool; returns (B,) nats."""
    check_batch(logits, labels, expert_correct)
    logits = in_float32_or_better(logits)
    right = expert_correct[:, 0].to(logits.dtype)
    expert_term = functional.binary_cross_entropy_with_logits(logits[:, -1], right, reduction="none")
    return class_loss(logits, labels) + expert_term


def compare_margin(logits: np.ndarray) -> Float64[np.ndarray, " N"]:
    """sigmoid(g_d) - max_k p_k, p = softmax over the classes. logits (N, K+1); returns (N,)."""
    return special.expit(as_floats("logits", logits, (None, None))[:, -1]) - class_confidence(logits)
