"""How answers are drawn: once for a training, or anew in each epoch. Drawn once, they are learned by heart."""

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np
from torch import Tensor

from l2d_core.common.seeds import torch_generator
from l2d_core.data import Scores
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.probabilities import estimators_of, expert_pairs
from l2d_core.experts.simulated import sample_answers
from l2d_core.lab import heads
from l2d_core.reproductions.experiment import HALF
from l2d_core.reproductions.findings import WORDS, Finding, say_order
from l2d_core.reproductions.measured import Value, Values, mean_of, measure_estimators, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.trained import SURROGATES_COMPARED, TrainedSystems

DATASET, EPOCHS = "digits", 100
DRAWN = {False: "drawn once", True: "drawn anew in each epoch"}
LEARNED = "answers_by_heart"

NOTES = (
    f"Heads with a hidden layer on {LAB_DATASETS[DATASET].title}, {EPOCHS} epochs, the 75/20 expert. Both trainings of "
    "a seed have the same first weights, batches and test answers; the authors' code draws training answers anew in "
    "each batch.",
    "By heart: the correlation, within a class, of the estimate and of whether the answer drawn first is right, on the "
    "training cases, the mean over the classes. Within a class these answers are chance, so that it is 0 for an "
    "estimator that has not learned them.",
    "ECE: 20 bins of equal width over all test cases, estimates above 1 set to 1.",
)


def answers(request: Request) -> Reproduction:
    """ECE, system accuracy and how far the answers were learned by heart. ValueError at another scale than quick."""
    request.only_quick("answers")
    start = time.perf_counter()
    values: list[Value] = []
    for redrawn in DRAWN:
        values += _fitted(request.seeds, redrawn)
    findings = [say(values, name) for say in (_say_error, _say_learned) for name in ("sigmoid", "odds")]
    return Reproduction(
        title="How answers are drawn",
        table=as_table(rows_of(values)),
        details={},
        notes=NOTES,
        findings=tuple(findings),
        seconds=time.perf_counter() - start,
    )


@lru_cache(maxsize=4)
def _fitted(seeds: tuple[int, ...], redrawn: bool) -> tuple[Value, ...]:
    setting, data = DRAWN[redrawn], LAB_DATASETS[DATASET]
    splits, confusion = data.load(0, data.default_noise), HALF.confusion(data.class_names)
    made = heads.fit(
        splits.train,
        splits.test,
        confusion,
        surrogates=SURROGATES_COMPARED,
        seeds=seeds,
        config=replace(data.head, kind="mlp", epochs=EPOCHS),
        redraw_answers=redrawn,
        extra_inputs=splits.train.inputs,
    )
    test = made.scores["softmax"][0]
    truth = confusion.diagonal().numpy()[test.labels]
    values = measure_estimators([TrainedSystems(setting, made.scores, {}, truth)], ["ece", "system", "coverage"])
    for surrogate, estimator in estimators_of(SURROGATES_COMPARED):
        for logits, seed in zip(made.extra_logits[surrogate], seeds, strict=True):
            answered = replace(splits.train, answers=first_answers(confusion, splits.train.labels, seed)[:, None])
            scores = Scores.from_data(answered, np.ascontiguousarray(logits), surrogate=surrogate)
            values.append(Value(setting, surrogate, estimator, LEARNED, learned_by_heart(scores, estimator)))
    return tuple(values)


def first_answers(confusion: Tensor, labels: Tensor, seed: int) -> Tensor:
    """The answers (N,) to training cases that `lab.fit` draws for a seed, in its first epoch."""
    return sample_answers(confusion, labels, generator=torch_generator(seed, "answers"))


def learned_by_heart(scores: Scores, estimator: str) -> Statistic:
    """The correlation of the estimate and of being right within a class, the mean over the classes; n: all cases."""
    probability, right = expert_pairs(scores, estimator)
    found = []
    for label in range(scores.num_classes):
        p, own = probability[scores.labels == label], right[scores.labels == label]
        if len(p) and p.std() > 0 and own.std() > 0:
            found.append(np.corrcoef(p, own)[0, 1])
    return Statistic(float(np.mean(found)) if found else None, len(scores))


def _say_error(values: Values, estimator: str) -> Finding:
    once, anew = DRAWN.values()
    pair = (pick(values, once, estimator, "ece"), pick(values, anew, estimator, "ece"))
    return say_order(f"{WORDS[estimator]}, ECE by how answers are drawn", ("once", "in each epoch"), pair, None)


def _say_learned(values: Values, estimator: str) -> Finding:
    once, anew = (mean_of(pick(values, setting, estimator, LEARNED)) for setting in DRAWN.values())
    return Finding(
        "beside",
        f"{WORDS[estimator]}: within a class of training cases, the estimate correlates with the answers by {once:.2f} "
        f"where they are drawn once, and by {anew:.2f} where they are drawn anew.",
    )
