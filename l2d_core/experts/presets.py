"""Simulated experts to start from: an accuracy per class for `simulated.per_class`, without importing torch."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from l2d_core.common.checks import ArrayLike


@dataclass(frozen=True)
class ExpertPreset:
    """An expert to start from: an accuracy per class, and its answers where it does not know.

    accuracy: (class_names, k) -> (K,) float64, for `per_class` with this `wrong`; k in 0..K counts only with
    takes_k. only_for: the class names that it is made for, in any order; empty for any. look_at: its point, and where
    the live lab's page shows it.
    """

    title: str
    accuracy: Callable[[Sequence[str], int], ArrayLike]
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


def _first(num_right: int, num_classes: int, right: float, rest: float) -> np.ndarray:
    accuracy = np.full(num_classes, rest)
    accuracy[:num_right] = right
    return accuracy


def _half(names: Sequence[str], _k: int) -> np.ndarray:
    # The paper's expert on CIFAR-10; where K is odd, the middle class is in the first half.
    return _first(math.ceil(len(names) / 2), len(names), 0.75, 0.2)


def _useful(names: Sequence[str], _k: int) -> np.ndarray:
    return _first(round(0.7 * len(names)), len(names), 1.0, 1 / len(names))


def _random(names: Sequence[str], _k: int) -> np.ndarray:
    return _first(0, len(names), 0.0, 1 / len(names))


def _logged(names: Sequence[str], _k: int) -> np.ndarray:
    # Who does not know guesses among all K classes, so that the guess is right in 1 / K: 73 % and 10 % with K = 10.
    guess = 1 / len(names)
    return _first(round(0.6 * len(names)), len(names), 0.7 + 0.3 * guess, guess)


def _first_k(names: Sequence[str], k: int) -> np.ndarray:
    return _first(_known(k, names), len(names), 0.7, 1 / len(names))


def _sure_of_k(names: Sequence[str], k: int) -> np.ndarray:
    return _first(_known(k, names), len(names), 1.0, 1 / len(names))


def _known(k: int, names: Sequence[str]) -> int:
    if not 0 <= k <= len(names):
        raise ValueError(f"k must lie in 0..{len(names)} for {len(names)} classes, got {k}")
    return k


def _dermatologist(names: Sequence[str], _k: int) -> np.ndarray:
    return np.array([DERMATOLOGIST_RECALL[name] for name in names])


def _always_right(names: Sequence[str], _k: int) -> np.ndarray:
    return _first(len(names), len(names), 1.0, 1.0)


def _moles(names: Sequence[str], _k: int) -> np.ndarray:
    return np.array([{"nv": 0.98, "mel": 0.02}.get(name, 0.5) for name in names])


def _specialist(names: Sequence[str], _k: int) -> np.ndarray:
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
