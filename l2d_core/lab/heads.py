"""The live lab's engine: heads on fixed features, for many seeds and surrogates at once, in a fraction of a second.

Seeds are rows of batched tensors, divided among the threads of a pool. See `descent` for the steps themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from l2d_core.common.machine import num_processors
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData, Scores
from l2d_core.lab.descent import FitDropped, Weights, descend, forward, initial_weights, weights_of
from l2d_core.lab.setup import (
    HeadLoss,
    HeadLosses,
    LabExpert,
    LabSetup,
    Layer,
    People,
    answer_training_cases,
    check_setup,
)

PROGRESS_SECONDS = 0.05


@dataclass(frozen=True)
class LabFit:
    """The result of a fit: for each surrogate one `Scores` per seed, all on the same test cases in the same order.

    layers: surrogate -> the layers of its heads, one where these are linear, two where they have a hidden layer.
    extra_logits: surrogate -> (S, G, K+1) for the G `extra_inputs`; empty without them.
    """

    scores: Mapping[str, Sequence[Scores]]
    seeds: tuple[int, ...]
    layers: Mapping[str, Sequence[Layer]]
    extra_logits: Mapping[str, np.ndarray]


def fit(
    train: DeferralData,
    test: DeferralData,
    confusion: Tensor | None,
    *,
    people: People | None = None,
    surrogates: Sequence[str] = ("softmax", "one_vs_all"),
    seeds: Sequence[int] = tuple(range(8)),
    config: HeadConfig | None = None,
    options: Mapping[str, Mapping[str, float | str]] | None = None,
    random_labels: bool = False,
    redraw_answers: bool = False,
    extra_inputs: Tensor | None = None,
    losses: Mapping[str, HeadLoss] | None = None,
    on_progress: Callable[[float], bool | None] | None = None,
) -> LabFit:
    """Train one head per seed and surrogate on `train`, with an expert who answers by `confusion`, and score `test`.

    train.inputs (N, D) and test.inputs (M, D) float; their answers are not read. confusion (K, K): P(answer | label).
    people: recorded answers in place of a confusion matrix: (ids, seed) -> (N,) in 0..K-1.
    A seed decides the expert's answers (drawn once, or anew in each epoch with `redraw_answers`), the first weights,
    the order of the batches and, with `random_labels`, the training labels, drawn uniformly over the classes (the
    paper's "random data"). The same call
    with the same number of threads gives the same bits; other seeds or surrogates in the call, or another number of
    threads, change a seed's logits by rounding only.
    options: surrogate -> keyword options of its loss. losses: name -> a loss that is not a surrogate, for names listed
    among the surrogates; its scores have that name as their surrogate. extra_inputs (G, D): more points to score,
    without labels, such as a grid for a picture. on_progress is called with the share done, about 20 times a second;
    if it returns False the fit stops with FitDropped, and whatever it raises stops the fit and passes through.
    """
    setup = LabSetup(
        train=train,
        test=test,
        expert=LabExpert(confusion, people),
        losses=HeadLosses(tuple(surrogates), options or {}, losses or {}),
        config=config or HeadConfig(),
        random_labels=random_labels,
        extra_inputs=extra_inputs,
        redraw_answers=redraw_answers,
    )
    check_setup(setup, seeds)
    # The steps of a linear head are too short for a second thread to gain what it costs.
    num_parts = 1 if setup.config.kind == "linear" else min(len(seeds), num_processors())
    parts = [tuple(int(seed) for seed in part) for part in np.array_split(np.asarray(seeds), num_parts)]
    done = [0.0] * len(parts)
    futures = [
        _workers().submit(_fit_seeds, setup, part, partial(done.__setitem__, place)) for place, part in enumerate(parts)
    ]
    _watch(setup, futures, done, on_progress)
    return _join([future.result() for future in _failed_first(futures)])


def _watch(
    setup: LabSetup, futures: list[Future], done: list[float], on_progress: Callable[[float], bool | None] | None
) -> None:
    try:
        while True:
            state = wait(futures, timeout=PROGRESS_SECONDS, return_when=FIRST_EXCEPTION)
            if not state.not_done or any(future.exception() for future in state.done):
                return
            if on_progress is not None and on_progress(sum(done) / len(done)) is False:
                raise FitDropped
    finally:
        setup.stop.set()
        for future in futures:
            future.cancel()


def _failed_first(futures: list[Future]) -> list[Future]:
    """All futures, or only the one that failed first: the others were stopped because of it."""
    failed = [future for future in futures if not future.cancelled() and future.exception() is not None]
    own = [future for future in failed if not isinstance(future.exception(), FitDropped)]
    return own[:1] or futures


@cache
def _workers() -> ThreadPoolExecutor:
    """Threads that all fits of this process share: one torch thread each, so that fits never crowd the machine."""
    return ThreadPoolExecutor(num_processors(), "lab", initializer=torch.set_num_threads, initargs=(1,))


def _fit_seeds(setup: LabSetup, seeds: tuple[int, ...], report: Callable[[float], None]) -> LabFit:
    cases, weights = answer_training_cases(setup, seeds), initial_weights(setup, seeds)
    descend(setup, cases, weights, report)
    return LabFit(
        scores=_score(setup, seeds, weights),
        seeds=seeds,
        layers={name: weights_of(setup, weights, place) for place, name in enumerate(setup.losses.names)},
        extra_logits={} if setup.extra_inputs is None else _logits(setup, weights, setup.extra_inputs),
    )


def _logits(setup: LabSetup, weights: Weights, inputs: Tensor) -> dict[str, np.ndarray]:
    """Surrogate -> (S, G, K+1) for inputs (G, D)."""
    logits = forward(setup, weights, inputs.float()[None])[0].transpose(2, 3)
    return {name: logits[:, place].numpy() for place, name in enumerate(setup.losses.names)}


def _score(setup: LabSetup, seeds: Sequence[int], weights: Weights) -> dict[str, list[Scores]]:
    logits = _logits(setup, weights, setup.test.inputs)
    if not all(np.isfinite(own).all() for own in logits.values()):
        raise ValueError("training diverged: some logits are not finite; use a lower learning_rate")
    test, names = setup.test, setup.losses.names
    blank = Scores.from_data(test, logits[names[0]][0], surrogate=names[0])  # all scores share its labels and ids
    answers = [setup.expert.answer(test, test.labels, seed, "test answers").numpy()[:, None] for seed in seeds]
    return {
        name: [
            replace(blank, logits=own.copy(), answers=said, surrogate=name)
            for own, said in zip(logits[name], answers, strict=True)
        ]
        for name in names
    }


def _join(parts: Sequence[LabFit]) -> LabFit:
    """The fits of some of the seeds as one."""
    first = parts[0]
    return LabFit(
        scores={name: [scores for part in parts for scores in part.scores[name]] for name in first.scores},
        seeds=tuple(seed for part in parts for seed in part.seeds),
        layers={name: _join_layers([part.layers[name] for part in parts]) for name in first.layers},
        extra_logits={name: np.concatenate([part.extra_logits[name] for part in parts]) for name in first.extra_logits},
    )


def _join_layers(parts: Sequence[Sequence[Layer]]) -> list[Layer]:
    return [
        Layer(np.concatenate([layer.weight for layer in same]), np.concatenate([layer.bias for layer in same]))
        for same in zip(*parts, strict=True)
    ]
