"""What is known of a training after each of its epochs."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from l2d_core.calibration.binned import calibration_error
from l2d_core.data import DeferralData, Scores
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_pairs
from l2d_core.surrogates import SURROGATES


@dataclass(frozen=True)
class EpochReport:
    """An epoch's numbers; losses are means over the cases, in nats, or in bits where reference is true.

    epoch counts from 1. train_loss: over the epoch's batches, each before its step; validation_loss: after the
    last of them, over all validation cases. system_accuracy, coverage and calibration_error (ECE of the
    surrogate's default estimator, in 15 bins of equal width, the mean over the experts) are those of the
    validation cases in which all experts were asked; None where there are none, and for a loss that is no surrogate.
    learning_rate: of the last step.
    images_per_second: in training alone; seconds: of training and validation. reference: see `RunConfig`.
    """

    epoch: int
    train_loss: float
    validation_loss: float
    system_accuracy: float | None
    coverage: float | None
    calibration_error: float | None
    learning_rate: float
    images_per_second: float
    seconds: float
    reference: bool = False


def validation_metrics(logits: Tensor, data: DeferralData, answers: Tensor, surrogate: str) -> dict[str, float | None]:
    """system_accuracy, coverage and calibration_error, as in `EpochReport`, of logits (N, K+J) and answers (N, J)."""
    asked = (answers >= 0).all(dim=1)
    if not asked.any() or surrogate not in SURROGATES:
        return dict.fromkeys(("system_accuracy", "coverage", "calibration_error"))
    scores = Scores(
        logits=logits[asked].numpy(),
        labels=data.labels[asked].numpy(),
        answers=answers[asked].numpy(),
        ids=np.asarray(data.ids)[asked.numpy()],
        class_names=data.class_names,
        expert_names=data.expert_names,
        surrogate=surrogate,
    )
    shares = accuracies(scores, defer_by_argmax(scores.logits, scores.num_experts))
    errors = [calibration_error(*expert_pairs(scores, expert=expert)) for expert in range(scores.num_experts)]
    return {
        "system_accuracy": shares["system"].value,
        "coverage": shares["coverage"].value,
        "calibration_error": float(np.mean(errors)),
    }
