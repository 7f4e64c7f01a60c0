"""Small sets of scores for the evaluation tests, and one decision evaluated case by case."""

import numpy as np

from l2d_core.data import Scores


def random_scores(n: int = 60, seed: int = 0, *, num_experts: int = 1, surrogate: str = "softmax") -> Scores:
    """Random scores in steps of a half, so that many margins tie, with an informative machine and experts."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, n)
    logits = np.round(generator.normal(size=(n, 3 + num_experts)) * 2) / 2
    logits[np.arange(n), labels] += 1
    guesses = generator.integers(0, 3, (n, num_experts))
    answers = np.where(generator.random((n, num_experts)) < 0.6, labels[:, None], guesses)
    return Scores.from_arrays(logits, labels, answers, surrogate=surrogate)


def hand_scores() -> Scores:
    """Four cases. The machine is right on rows 0 and 1, the expert on rows 0 and 2; margins -2, -1, 1, 1."""
    logits = [[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]]
    return scores_from_lists(logits, [0, 1, 1, 0], [0, 0, 1, 1], surrogate="one_vs_all")


def scores_from_lists(logits: list, labels: list, answers: list, surrogate: str = "softmax") -> Scores:
    return Scores.from_arrays(np.array(logits), np.array(labels), np.array(answers), surrogate=surrogate)


def _correct(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """(N,) machine right, (N,) expert right, one case at a time."""
    k = scores.num_classes
    machine = [int(np.argmax(row[:k])) == label for row, label in zip(scores.logits, scores.labels, strict=True)]
    chosen = [int(np.argmax(row[k:])) for row in scores.logits]
    expert = [said[j] == y for said, j, y in zip(scores.answers, chosen, scores.labels, strict=True)]
    return np.array(machine), np.array(expert)


def _mean(flags: np.ndarray) -> float:
    return float(np.mean(flags)) if len(flags) else np.nan


def decision_row(scores: Scores, deferred: np.ndarray) -> list[float]:
    """Coverage, n_kept and the three accuracies of one decision."""
    machine, expert = _correct(scores)
    system = np.where(deferred, expert, machine)
    kept = ~deferred
    return [kept.mean(), kept.sum(), system.mean(), _mean(machine[kept]), _mean(expert[deferred])]
