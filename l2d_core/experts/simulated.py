"""Simulated experts: each a K x K matrix of P(answer | true class), with P(right) on its diagonal.

Beware of "random": in the authors' code a guess is uniform over all K classes, the right one included, so
that with K = 10 an expert "75 % and random" is right in 77.5 %: `per_class(..., wrong="all")`. With the
default, "others", an accuracy of 75 % means right in 75 %.
"""

from collections.abc import Collection, Sequence

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.config import WRONG_RULES, ExpertConfig
from l2d_core.experts.presets import DERMATOLOGIST_RECALL, PRESETS, ExpertPreset  # noqa: F401 (also found here)

ROW_SUM_TOLERANCE = 1e-5  # float32 rows of a softmax pass


def per_class(accuracy: Tensor | np.ndarray | Sequence, *, wrong: str = "others") -> Float64[Tensor, "K K"]:
    """An expert who knows class y with probability accuracy[y], and guesses uniformly otherwise.

    wrong="others": over the K-1 other classes, so C[y, y] = a_y.
    wrong="all": over all K, so a guess can be right: C[y, y] = a_y + (1 - a_y) / K.

    accuracy (K,) in 0..1, K >= 2; returns (K, K) float64, one row per true class.
    ValueError names the bad entry.
    """
    accuracy = torch.as_tensor(accuracy, dtype=torch.float64)
    require_shape("accuracy", accuracy.numpy(), (None,))
    require_known("wrong", wrong, WRONG_RULES)
    num_classes = _check_num_classes(len(accuracy))
    require_range("accuracy", accuracy.numpy(), 0, 1)
    guesses = num_classes if wrong == "all" else num_classes - 1
    miss = (1 - accuracy) / guesses
    confusion = miss[:, None].repeat(1, num_classes)
    confusion.diagonal().copy_(accuracy + miss if wrong == "all" else accuracy)
    return confusion


def right_on(classes: Collection[int], num_classes: int, accuracy: float = 1.0) -> Float64[Tensor, "K K"]:
    """An expert right with probability `accuracy` on some classes, guessing uniformly over all K on the rest.

    classes: numbers in 0..K-1; wrong answers on them are uniform over the others; returns (K, K) float64.
    ValueError on a class out of range or an accuracy outside 0..1.
    """
    _check_num_classes(num_classes)
    chosen = torch.as_tensor(sorted(classes), dtype=torch.int64)
    require_range("classes", chosen.numpy(), 0, num_classes - 1)
    diagonal = torch.full((num_classes,), 1 / num_classes, dtype=torch.float64)
    diagonal[chosen] = float(accuracy)
    return per_class(diagonal)


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
            f"expert.accuracy must give {num_classes} numbers, one per class, or one for all, got {len(accuracy)}"
        )
    return per_class(accuracy, wrong=expert.wrong)


def sample_answers(confusion: Tensor, labels: Tensor, *, generator: torch.Generator) -> Int64[Tensor, " N"]:
    """One answer per case, drawn from the row of its true class.

    confusion (K, K), labels (N,) integer in 0..K-1, and the generator, all on the CPU; returns (N,) int64.
    Each case draws one uniform number, whose lowest part means the right answer: with the same seed, raising
    an accuracy never turns a right answer into a wrong one, and leaves the answers on other classes alone.
    ValueError on a matrix that check_confusion refuses, and on labels out of range.
    """
    confusion = check_confusion(confusion)
    num_classes = len(confusion)
    labels = _check_labels(labels, num_classes)
    classes = torch.arange(num_classes)
    upper = confusion.gather(1, (classes[:, None] + classes) % num_classes).cumsum(dim=1)  # from y upwards, around
    upper = upper / upper[:, -1:]  # the last is exactly 1, so that no class of probability 0 is ever drawn
    uniform = torch.rand(len(labels), 1, generator=generator, dtype=torch.float64)
    return (labels + (uniform >= upper[labels]).sum(dim=1)) % num_classes


def expert_correct_probability(confusion: Tensor, class_probability: Tensor) -> Float64[Tensor, " N"]:
    """The true P(m = y | x) of an expert who sees only the class: sum_y P(y|x) C[y, y].

    confusion (K, K); class_probability (N, K), the true P(y|x), rows sum to 1; returns (N,) float64.
    ValueError names the row that is not a distribution.
    """
    confusion = check_confusion(confusion)
    require_shape("class_probability", class_probability.numpy(), (None, len(confusion)))
    class_probability = class_probability.double()
    _check_distributions("class_probability", class_probability)
    return (class_probability @ confusion.diagonal()).clamp(0, 1)  # rounding may carry a sum past 1


def check_confusion(confusion: Tensor) -> Float64[Tensor, "K K"]:
    """The matrix in float64; ValueError unless it is square, K >= 2, in 0..1, and each row sums to 1."""
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
        raise ValueError(f"confusion must be a square (K, K) matrix, got shape {tuple(confusion.shape)}")
    _check_num_classes(len(confusion))
    confusion = confusion.double()
    _check_distributions("confusion", confusion)
    return confusion


def _given(expert: ExpertConfig, num_classes: int) -> Tensor:
    widths = {len(row) for row in expert.confusion}
    if len(expert.confusion) != num_classes or widths != {num_classes}:
        raise ValueError(
            f"expert.confusion must be {num_classes} rows of {num_classes}, got {len(expert.confusion)} rows"
            f" of {' or '.join(map(str, sorted(widths)))}"
        )
    return check_confusion(torch.tensor(expert.confusion, dtype=torch.float64))


def _check_labels(labels: Tensor, num_classes: int) -> Tensor:
    require_shape("labels", labels.numpy(), (None,))
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels must be whole numbers, got {labels.dtype}")
    require_range("labels", labels.numpy(), 0, num_classes - 1)
    return labels.long()


def _check_num_classes(num_classes: int) -> int:
    if num_classes < 2:
        raise ValueError(f"an expert needs at least 2 classes, got {num_classes}")
    return num_classes


def _check_distributions(name: str, rows: Tensor) -> None:
    require_range(name, rows.numpy(), 0, 1 + ROW_SUM_TOLERANCE)
    sums = rows.sum(dim=1)
    bad = (sums - 1).abs() > ROW_SUM_TOLERANCE
    if bad.any():
        row = int(bad.nonzero()[0])
        raise ValueError(f"{name} must sum to 1 in each row, got {sums[row]:.6g} in row {row}")
