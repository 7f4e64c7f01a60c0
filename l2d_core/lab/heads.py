"""The live lab's engine: heads on fixed features, for many seeds and surrogates at once, in a fraction of a second.

The seeds are rows of batched tensors. All surrogates of a seed see the same batches, expert answers and labels. The
class axis of logits is kept outside the batch axis in memory, where exp and sums over classes vectorise, and the
gradient of each loss with respect to the logits is its closed form, which spares automatic differentiation.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from l2d_core.common.seeds import torch_generator
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData, Scores
from l2d_core.lab.setup import HeadBatch, HeadLoss, LabJob, People, ask, check_job, check_names

PROGRESS_SECONDS = 0.05
_PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class FitDropped(Exception):
    """The caller of `fit` asked it to stop before it was done."""


@dataclass(frozen=True)
class LabFit:
    """What a fit gives: for each surrogate one `Scores` a seed, all on the same test cases in the same order.

    extra_logits: surrogate -> (S, G, K+1) for the G `extra_inputs`, where there were any.
    """

    scores: Mapping[str, Sequence[Scores]]
    seeds: tuple[int, ...]
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
    extra_inputs: Tensor | None = None,
    losses: Mapping[str, HeadLoss] | None = None,
    on_progress: Callable[[float], bool | None] | None = None,
) -> LabFit:
    """Train a head a seed and surrogate on `train`, with an expert who answers by `confusion`, and score `test`.

    train.inputs (N, D) and test.inputs (M, D) float; their answers are not read. confusion (K, K): P(answer | label).
    people: in place of a confusion, recorded answers: (ids, seed) -> (N,) in 0..K-1.
    A seed decides the expert's answers (drawn once), the first weights, the order of the batches and, with
    `random_labels`, the training labels, drawn uniformly over the classes (the paper's "random data"). The same call
    with the same number of threads gives the same bits; what else is in the call (other seeds, other surrogates), or
    another number of threads, changes a seed's logits by rounding only.
    options: surrogate -> keyword options of its loss. losses: name -> a loss that is no surrogate, for names that
    stand among the surrogates; its scores have that name for a surrogate. extra_inputs (G, D): more points to score,
    without labels, as a grid for a picture. on_progress gets the share done, about 20 times a second;
    where it returns False the fit stops with FitDropped, and whatever it raises stops the fit and passes through.
    """
    check_names(surrogates, options or {}, losses or {})
    names, config = tuple(surrogates), config or HeadConfig()
    job = LabJob(
        train, test, confusion, people, names, config, options or {}, random_labels, extra_inputs, losses or {}
    )
    check_job(job, seeds)
    # The steps of a linear head are too short for a second thread to gain what it costs.
    num_parts = 1 if config.kind == "linear" else min(len(seeds), _num_workers())
    parts = np.array_split(np.asarray(seeds), num_parts)
    done = [0.0] * len(parts)
    futures = [
        _workers().submit(_fit_seeds, job, [int(s) for s in part], partial(done.__setitem__, place))
        for place, part in enumerate(parts)
    ]
    _watch(job, futures, done, on_progress)
    results = [future.result() for future in _failed_first(futures)]
    scores = {name: [s for result, _ in results for s in result[name]] for name in names}
    extra = {name: np.concatenate([part[name] for _, part in results]) for name in names if extra_inputs is not None}
    return LabFit(scores, tuple(int(s) for s in seeds), extra)


def _watch(
    job: LabJob, futures: list[Future], done: list[float], on_progress: Callable[[float], bool | None] | None
) -> None:
    try:
        while True:
            state = wait(futures, timeout=PROGRESS_SECONDS, return_when=FIRST_EXCEPTION)
            if not state.not_done or any(future.exception() for future in state.done):
                return
            if on_progress is not None and on_progress(sum(done) / len(done)) is False:
                raise FitDropped
    finally:
        job.stop.set()
        for future in futures:
            future.cancel()


def _failed_first(futures: list[Future]) -> list[Future]:
    """As they are, or only the one that failed by itself: the others were stopped on its account."""
    failed = [future for future in futures if not future.cancelled() and future.exception() is not None]
    own = [future for future in failed if not isinstance(future.exception(), FitDropped)]
    return own[:1] or futures


@cache
def _workers() -> ThreadPoolExecutor:
    """Threads that all fits of this process share: one torch thread each, so that fits never crowd the machine."""
    return ThreadPoolExecutor(_num_workers(), "lab", initializer=torch.set_num_threads, initargs=(1,))


def _num_workers() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _fit_seeds(
    job: LabJob, seeds: list[int], report: Callable[[float], None]
) -> tuple[dict[str, list[Scores]], dict[str, np.ndarray]]:
    labels, correct = _draw_training_answers(job, seeds)
    weights = _initial_weights(job, seeds)
    _descend(job, seeds, labels, correct, weights, report)
    return _score(job, seeds, weights), _score_extra(job, weights)


def _draw_training_answers(job: LabJob, seeds: list[int]) -> tuple[Tensor, Tensor]:
    """Labels (S, N) and "the expert is right" (S, N), each seed's from generators of its own."""
    labels, correct = [], []
    for seed in seeds:
        own = job.train.labels
        if job.random_labels:
            generator = torch_generator(seed, "labels")
            own = torch.randint(job.width - 1, own.shape, generator=generator)
        answers = ask(job, job.train, own, seed, "answers")
        labels.append(own)
        correct.append(answers == own)
    return torch.stack(labels), torch.stack(correct)


def _initial_weights(job: LabJob, seeds: list[int]) -> list[Tensor]:
    """Layers as [weight (S, R*out, in), bias (S, R*out, 1), ...], R surrogates side by side.

    The last layer starts at 0, so that every class and the expert start even; hidden layers by He's rule, the same
    for each surrogate of a seed.
    """
    num_seeds, num_inputs, num_surrogates = len(seeds), job.train.inputs.shape[1], len(job.surrogates)
    if job.config.kind == "linear":
        out = num_surrogates * job.width
        return [torch.zeros(num_seeds, out, num_inputs), torch.zeros(num_seeds, out, 1)]
    hidden = job.config.hidden_units
    draws = [
        torch.randn(hidden, num_inputs, generator=torch_generator(seed, "weights")) * (2 / num_inputs) ** 0.5
        for seed in seeds
    ]
    first = torch.stack(draws).repeat(1, num_surrogates, 1)
    return [
        first,
        torch.zeros(num_seeds, num_surrogates * hidden, 1),
        torch.zeros(num_seeds * num_surrogates, job.width, hidden),
        torch.zeros(num_seeds * num_surrogates, job.width, 1),
    ]


def _descend(
    job: LabJob,
    seeds: list[int],
    labels: Tensor,
    correct: Tensor,
    weights: list[Tensor],
    report: Callable[[float], None],
) -> None:
    num_cases, config = len(job.train), job.config
    batch_generators = [torch_generator(seed, "batches") for seed in seeds]
    steps = config.epochs * -(-num_cases // config.batch_size)
    optimizer = PlainAdamW(weights, weight_decay=config.weight_decay)
    inputs = job.train.inputs.to(_PRECISIONS[config.precision])
    step = 0
    buffer = torch.empty(len(seeds) * min(config.batch_size, num_cases), inputs.shape[1], dtype=inputs.dtype)
    for epoch in range(config.epochs):
        order = torch.stack([torch.randperm(num_cases, generator=generator) for generator in batch_generators])
        epoch_labels, epoch_correct = labels.gather(1, order), correct.gather(1, order)
        for start in range(0, num_cases, config.batch_size):
            if job.stop.is_set():
                raise FitDropped
            part = slice(start, start + config.batch_size)
            rows = order[:, part]
            batch = torch.index_select(inputs, 0, rows.reshape(-1), out=buffer[: rows.numel()])
            batch = batch.view(*rows.shape, -1)
            known = epoch_labels[:, part], epoch_correct[:, part], rows, tuple(seeds)
            _set_gradients(job, weights, batch, known)
            # A scheduler object would take as long as the step itself.
            optimizer.step(config.rate * (1 + math.cos(math.pi * step / steps)) / 2)
            step += 1
        report((epoch + 1) / config.epochs)


def _forward(job: LabJob, weights: list[Tensor], inputs: Tensor) -> tuple[Tensor, Tensor | None]:
    """Logits (S, R, K+1, B) for inputs (S, B, D) or (1, B, D), and the hidden layer (S*R, H, B) where there is one."""
    num_seeds = len(weights[0])
    columns = inputs.transpose(1, 2).expand(num_seeds, -1, -1)
    out = _product(weights[0], columns).add_(weights[1])
    hidden = None
    if job.config.kind == "mlp":
        hidden = out.relu_().view(num_seeds * len(job.surrogates), -1, inputs.shape[1])
        out = _product(weights[2], hidden.to(inputs.dtype)).add_(weights[3])
    return out.view(num_seeds, len(job.surrogates), job.width, -1), hidden


def _product(weights: Tensor, right: Tensor) -> Tensor:
    """The batched product in the precision of `right`, as float32."""
    return torch.bmm(weights.to(right.dtype), right).float()


def _set_gradients(
    job: LabJob, weights: list[Tensor], batch: Tensor, known: tuple[Tensor, Tensor, Tensor, tuple[int, ...]]
) -> None:
    """Backpropagation by hand: each weight's gradient of the batch's mean loss, a seed at a time in its own row.

    known: labels, correct, rows and seeds, as of `HeadBatch`.
    """
    logits, hidden = _forward(job, weights, batch)
    slope = torch.empty_like(logits)
    for place, name in enumerate(job.surrogates):
        gradient = job.gradient(name, HeadBatch(logits[:, place].transpose(1, 2), *known))
        torch.mul(gradient.transpose(1, 2), 1 / batch.shape[1], out=slope[:, place])
    if hidden is None:
        slope = slope.view(len(batch), -1, batch.shape[1])
    else:
        slope = slope.view(len(hidden), job.width, -1)
        weights[2].grad, weights[3].grad = (
            _product(slope, hidden.to(batch.dtype).transpose(1, 2)),
            slope.sum(2, keepdim=True),
        )
        slope = _product(weights[2].transpose(1, 2), slope.to(batch.dtype)).mul_(hidden > 0)
        slope = slope.view(len(batch), -1, batch.shape[1])
    weights[0].grad, weights[1].grad = _product(slope, batch), slope.sum(2, keepdim=True)


def _score(job: LabJob, seeds: list[int], weights: list[Tensor]) -> dict[str, list[Scores]]:
    logits = _forward(job, weights, job.test.inputs.float()[None])[0].transpose(2, 3)
    if not torch.isfinite(logits).all():
        raise ValueError("training diverged: some logits are not finite; use a lower learning_rate")
    labels, ids = job.test.labels.numpy(), np.asarray(job.test.ids)
    scores: dict[str, list[Scores]] = {name: [] for name in job.surrogates}
    for row, seed in enumerate(seeds):
        answers = ask(job, job.test, job.test.labels, seed, "test answers").numpy()[:, None]
        for place, name in enumerate(job.surrogates):
            own = logits[row, place].numpy().copy()
            scores[name].append(Scores(own, labels, answers, ids, job.test.class_names, job.test.expert_names, name))
    return scores


def _score_extra(job: LabJob, weights: list[Tensor]) -> dict[str, np.ndarray]:
    if job.extra_inputs is None:
        return {}
    logits = _forward(job, weights, job.extra_inputs.float()[None])[0].transpose(2, 3)
    return {name: logits[:, place].numpy() for place, name in enumerate(job.surrogates)}


class PlainAdamW:
    """`torch.optim.AdamW(parameters, weight_decay=..., fused=True)` on the CPU, to the last bit, for loops in a hurry.

    To make an object of torch's own class imports torch's compiler: 0.6 s, more than a whole fit of the live lab.
    parameters: tensors that torch does not differentiate, changed in place; each needs its `grad` before a step.
    """

    def __init__(self, parameters: Sequence[Tensor], *, weight_decay: float) -> None:
        self._parameters, self._weight_decay = list(parameters), weight_decay
        self._means = [torch.zeros_like(parameter) for parameter in parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in parameters]
        self._counts = [torch.zeros(()) for _ in parameters]

    def step(self, rate: float) -> None:
        """One step with this learning rate. ValueError where a parameter has no gradient."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        if len(gradients) < len(self._parameters):
            raise ValueError(f"{len(self._parameters) - len(gradients)} parameters have no gradient")
        moments = (self._means, self._squares, [], self._counts)
        settings = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maximize": False, "fused": True}
        adamw(self._parameters, gradients, *moments, lr=rate, weight_decay=self._weight_decay, **settings)
