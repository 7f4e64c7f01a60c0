"""Simulated experts: each a K x K matrix of P(answer | true class), with P(right) on its diagonal.

Beware of "random": in the authors' code a guess is uniform over all K classes, the right one included, so
that with K = 10 an expert "75 % and random" is right in 77.5 %: `per_class(..., wrong="all")`. With the
default, "others", an accuracy of 75 % means right in 75 %.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.config import WRONG_RULES, ExpertConfig

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
            f"expert.accuracy must give {num_classes} numbers, one a class, or one for all, got {len(accuracy)}"
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


@dataclass(frozen=True)
class ExpertPreset:
    """An expert to start from: an accuracy per class, and its answers where it does not know.

    accuracy: (class_names, k) -> (K,) float64, for `per_class` with this `wrong`; k in 0..K counts only with
    takes_k. only_for: the class names that it is made for, in any order; empty for any. look_at: its point, and where
    the live lab's page shows it.
    """

    title: str
    accuracy: Callable[[Sequence[str], int], Tensor]
    takes_k: bool = False
    only_for: frozenset[str] = frozenset()
    wrong: str = "others"
    look_at: str = ""

    def fits(self, class_names: Collection[str]) -> bool:
        """Whether it can be offered for classes of these names."""
        return not self.only_for or set(class_names) == self.only_for


# Recall by class of the expert network in the paper's HAM10000 experiment.
DERMATOLOGIST_RECALL = {
    "akiec": 0.39,
    "bcc": 0.45,
    "bkl": 0.37,
    "df": 0.06,
    "mel": 0.21,
    "nv": 0.95,
    "vasc": 0.48,
}


def _first(num_right: int, num_classes: int, right: float, rest: float) -> Tensor:
    accuracy = torch.full((num_classes,), rest, dtype=torch.float64)
    accuracy[:num_right] = right
    return accuracy


def _half(names: Sequence[str], _k: int) -> Tensor:
    # The paper's expert on CIFAR-10; where K is odd, the middle class is in the first half.
    return _first(math.ceil(len(names) / 2), len(names), 0.75, 0.2)


def _useful(names: Sequence[str], _k: int) -> Tensor:
    return _first(round(0.7 * len(names)), len(names), 1.0, 1 / len(names))


def _random(names: Sequence[str], _k: int) -> Tensor:
    return _first(0, len(names), 0.0, 1 / len(names))


def _logged(names: Sequence[str], _k: int) -> Tensor:
    # Who does not know guesses among all K classes, so that the guess is right in 1 / K: 73 % and 10 % with K = 10.
    guess = 1 / len(names)
    return _first(round(0.6 * len(names)), len(names), 0.7 + 0.3 * guess, guess)


def _first_k(names: Sequence[str], k: int) -> Tensor:
    return _first(_known(k, names), len(names), 0.7, 1 / len(names))


def _sure_of_k(names: Sequence[str], k: int) -> Tensor:
    return _first(_known(k, names), len(names), 1.0, 1 / len(names))


def _known(k: int, names: Sequence[str]) -> int:
    if not 0 <= k <= len(names):
        raise ValueError(f"k must lie in 0..{len(names)} for {len(names)} classes, got {k}")
    return k


def _dermatologist(names: Sequence[str], _k: int) -> Tensor:
    return torch.tensor([DERMATOLOGIST_RECALL[name] for name in names], dtype=torch.float64)


def _always_right(names: Sequence[str], _k: int) -> Tensor:
    return _first(len(names), len(names), 1.0, 1.0)


def _moles(names: Sequence[str], _k: int) -> Tensor:
    return torch.tensor([{"nv": 0.98, "mel": 0.02}.get(name, 0.5) for name in names], dtype=torch.float64)


def _specialist(names: Sequence[str], _k: int) -> Tensor:
    return _first(1, len(names), 1.0, 0.0)


PRESETS: dict[str, ExpertPreset] = {
    "half": ExpertPreset(
        "75 % right on the first half of the classes, 20 % on the rest",
        _half,
        look_at="The paper's first expert, by its text. Look at the marked zone of the softmax odds: how many cases "
        "are in it, and in what share of them is the expert right?",
    ),
    "logged": ExpertPreset(
        "Knows 6 in 10 classes in 70 %, guesses otherwise: the authors' logged runs",
        _logged,
        look_at="The expert behind the paper's first figures, by the authors' logs: right in 73 % on six classes of "
        "ten and in 10 % on four. Look at the marked zone of the softmax odds.",
    ),
    "useful": ExpertPreset(
        "Right on the first 7 in 10 classes, guesses the rest",
        _useful,
        look_at="An expert worth asking. Look at the proxy: it says P/(1 + P), so its marks lie above the diagonal.",
    ),
    "random": ExpertPreset(
        "Guesses every class",
        _random,
        look_at="An expert who knows nothing. Look at the systems' accuracy: is it below the machine alone?",
    ),
    "first_k": ExpertPreset(
        "70 % right on the first k classes, guesses the rest",
        _first_k,
        takes_k=True,
        look_at="Move k. Look at the coverage: the more the expert knows, the more is handed over.",
    ),
    "sure_of_k": ExpertPreset(
        "Always right on the first k classes, guesses the rest",
        _sure_of_k,
        takes_k=True,
        look_at="The expert of the paper's figures over k, there with k + 1 classes. Move k. Look at the coverage.",
    ),
    "dermatologist": ExpertPreset(
        "A dermatologist like the paper's expert",
        _dermatologist,
        only_for=frozenset(DERMATOLOGIST_RECALL),
        look_at="Recall by class of the paper's expert network. Look at the risk histograms: which estimator promises "
        "a risk near 0, and what is true?",
    ),
    "moles": ExpertPreset(
        "Good on moles, blind to melanoma",
        _moles,
        only_for=frozenset(DERMATOLOGIST_RECALL),
        look_at="Most lesions are moles, so the expert is mostly right, and most dangerously wrong. Look at the lowest "
        "estimates: does any system know the cases to keep?",
    ),
    "specialist": ExpertPreset(
        "Knows one class, and nothing else",
        _specialist,
        look_at="All or nothing. Look at one-vs-all's reliability diagram: are there estimates near 0 and near 1, and "
        "few in between?",
    ),
    "always_right": ExpertPreset(
        "Always right",
        _always_right,
        look_at="Nothing is left to the machine. Look at the softmax odds: how far above 1 can an estimate of 1 be?",
    ),
}


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
