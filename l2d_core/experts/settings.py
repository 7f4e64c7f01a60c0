"""From the expert's settings in a run's config to the confusion matrix that they stand for."""

import torch
from torch import Tensor

from l2d_core.config import ExpertConfig
from l2d_core.experts.simulated import check_confusion, per_class, right_on


def expert_confusion(expert: ExpertConfig, num_classes: int) -> Tensor:
    """The matrix P(answer | true class), (K, K) float64, of a simulated expert.

    ValueError where the settings do not fit num_classes, or the expert is human.
    """
    if not expert.is_simulated:
        raise ValueError(f"expert must be simulated to have a confusion matrix, got one of kind {expert.kind!r}")
    if expert.kind == "right_on":
        return right_on(expert.classes, num_classes, *expert.accuracy)
    if expert.kind == "confusion":
        return _given(expert, num_classes)
    accuracy = expert.accuracy * num_classes if len(expert.accuracy) == 1 else expert.accuracy
    if len(accuracy) != num_classes:
        raise ValueError(
            f"expert.accuracy must give {num_classes} numbers, one a class, or one for all, got {len(accuracy)}"
        )
    return per_class(accuracy, wrong=expert.wrong)


def _given(expert: ExpertConfig, num_classes: int) -> Tensor:
    widths = {len(row) for row in expert.confusion}
    if len(expert.confusion) != num_classes or widths != {num_classes}:
        raise ValueError(
            f"expert.confusion must be {num_classes} rows of {num_classes}, got {len(expert.confusion)} rows"
            f" of {' or '.join(map(str, sorted(widths)))}"
        )
    return check_confusion(torch.tensor(expert.confusion, dtype=torch.float64))
