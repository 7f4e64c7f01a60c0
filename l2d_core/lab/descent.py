"""The steps of the live lab's engine: gradient descent on the heads of many seeds and surrogates side by side.

All surrogates of a seed see the same batches, expert answers and labels. The class axis of logits is kept outside the
batch axis in memory, where exp and sums over classes vectorise, and the gradient of each loss with respect to the
logits is its closed form, which spares automatic differentiation.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from l2d_core.common.seeds import torch_generator
from l2d_core.lab.setup import AnsweredCases, HeadBatch, LabSetup, Layer, redraw_answers

_PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# [weight (S, R*out, in), bias (S, R*out, 1)] for each layer, R surrogates side by side; those of the last layer of a
# head with a hidden one are (S*R, out, in) and (S*R, out, 1).
Weights = list[Tensor]


class FitDropped(Exception):
    """The caller of `fit` asked it to stop before it was done."""


def initial_weights(setup: LabSetup, seeds: Sequence[int]) -> Weights:
    """The last layer starts at 0, so that every class and the expert start even; hidden layers by He's rule, the same
    for each surrogate of a seed.
    """
    num_seeds, num_inputs, num_surrogates = len(seeds), setup.train.inputs.shape[1], len(setup.losses.names)
    if setup.config.kind == "linear":
        out = num_surrogates * setup.width
        return [torch.zeros(num_seeds, out, num_inputs), torch.zeros(num_seeds, out, 1)]
    hidden = setup.config.hidden_units
    draws = [
        torch.randn(hidden, num_inputs, generator=torch_generator(seed, "weights")) * (2 / num_inputs) ** 0.5
        for seed in seeds
    ]
    return [
        torch.stack(draws).repeat(1, num_surrogates, 1),
        torch.zeros(num_seeds, num_surrogates * hidden, 1),
        torch.zeros(num_seeds * num_surrogates, setup.width, hidden),
        torch.zeros(num_seeds * num_surrogates, setup.width, 1),
    ]


def weights_of(setup: LabSetup, weights: Weights, place: int) -> list[Layer]:
    """The layers of the surrogate at this place, for all seeds."""
    shape = len(weights[0]), len(setup.losses.names), -1
    return [
        Layer(weight.view(*shape, weight.shape[-1])[:, place].numpy(), bias.view(*shape)[:, place].numpy())
        for weight, bias in zip(weights[::2], weights[1::2], strict=True)
    ]


def descend(setup: LabSetup, cases: AnsweredCases, weights: Weights, report: Callable[[float], None]) -> None:
    """Train the weights in place; report is called with the share done after each epoch. FitDropped if asked to."""
    num_cases, config = len(setup.train), setup.config
    batch_generators = [torch_generator(seed, "batches") for seed in cases.seeds]
    steps = config.epochs * -(-num_cases // config.batch_size)
    optimizer = PlainAdamW(weights, weight_decay=config.weight_decay)
    inputs = setup.train.inputs.to(_PRECISIONS[config.precision])
    step = 0
    buffer = torch.empty(len(cases.seeds) * min(config.batch_size, num_cases), inputs.shape[1], dtype=inputs.dtype)
    for epoch in range(config.epochs):
        order = torch.stack([torch.randperm(num_cases, generator=generator) for generator in batch_generators])
        if setup.redraw_answers and epoch:
            cases = redraw_answers(setup, cases, epoch)
        shuffled = cases.shuffled(order)
        for start in range(0, num_cases, config.batch_size):
            if setup.stop.is_set():
                raise FitDropped
            batch = shuffled.part(slice(start, start + config.batch_size))
            rows = batch.rows
            chosen = torch.index_select(inputs, 0, rows.reshape(-1), out=buffer[: rows.numel()])
            _set_gradients(setup, weights, chosen.view(*rows.shape, -1), batch)
            # A scheduler object would take as long as the step itself.
            optimizer.step(config.rate * (1 + math.cos(math.pi * step / steps)) / 2)
            step += 1
        report((epoch + 1) / config.epochs)


def forward(setup: LabSetup, weights: Weights, inputs: Tensor) -> tuple[Tensor, Tensor | None]:
    """Logits (S, R, K+1, B) for inputs (S, B, D) or (1, B, D), and the hidden layer (S*R, H, B) where there is one."""
    num_seeds = len(weights[0])
    columns = inputs.transpose(1, 2).expand(num_seeds, -1, -1)
    out = _product(weights[0], columns).add_(weights[1])
    hidden = None
    if setup.config.kind == "mlp":
        hidden = out.relu_().view(num_seeds * len(setup.losses.names), -1, inputs.shape[1])
        out = _product(weights[2], hidden.to(inputs.dtype)).add_(weights[3])
    return out.view(num_seeds, len(setup.losses.names), setup.width, -1), hidden


def _product(weights: Tensor, right: Tensor) -> Tensor:
    """The batched product in the precision of `right`, as float32."""
    return torch.bmm(weights.to(right.dtype), right).float()


def _set_gradients(setup: LabSetup, weights: Weights, inputs: Tensor, batch: AnsweredCases) -> None:
    """Backpropagation by hand: each weight's gradient of the batch's mean loss; inputs (S, B, D)."""
    logits, hidden = forward(setup, weights, inputs)
    slope = _logit_gradients(setup, logits, batch)
    if hidden is None:
        slope = slope.view(len(inputs), -1, inputs.shape[1])
    else:
        slope = slope.view(len(hidden), setup.width, -1)
        weights[2].grad, weights[3].grad = _layer_gradients(slope, hidden.to(inputs.dtype).transpose(1, 2))
        slope = _product(weights[2].transpose(1, 2), slope.to(inputs.dtype)).mul_(hidden > 0)
        slope = slope.view(len(inputs), -1, inputs.shape[1])
    weights[0].grad, weights[1].grad = _layer_gradients(slope, inputs)


def _logit_gradients(setup: LabSetup, logits: Tensor, batch: AnsweredCases) -> Tensor:
    """The gradient of the batch's mean loss with respect to the logits, (S, R, K+1, B) like them."""
    slope = torch.empty_like(logits)
    for place, name in enumerate(setup.losses.names):
        own = HeadBatch(
            logits=logits[:, place].transpose(1, 2),
            labels=batch.labels,
            correct=batch.correct,
            rows=batch.rows,
            seeds=batch.seeds,
        )
        gradient = setup.losses.gradient(name, own)
        torch.mul(gradient.transpose(1, 2), 1 / logits.shape[-1], out=slope[:, place])
    return slope


def _layer_gradients(slope: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Of a layer's weight and bias, from the slopes of its outputs, (S, out, B), and its inputs, (S, B, in)."""
    return _product(slope, inputs), slope.sum(2, keepdim=True)


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
