"""Small fits for the tests of the lab: clouds of points, one call, and the slow twin that trains a head at a time."""

import math
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from l2d_core.common.seeds import torch_generator
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData
from l2d_core.experts.simulated import per_class, sample_answers
from l2d_core.lab import heads
from l2d_core.surrogates import SURROGATES

ALL = tuple(SURROGATES)
CLASSES = ("a", "b", "c")
EXPERT = per_class([0.9, 0.6, 0.3])
LINEAR = HeadConfig(epochs=4, batch_size=16)
MLP = HeadConfig(kind="mlp", hidden_units=7, epochs=4, batch_size=16)
ROUNDING = 1e-5  # far above what float32 loses in these fits, far below what another seed or batch would change


def clouds(num_cases=43, seed=0, num_inputs=11, labels=None, classes=CLASSES):
    """Cases from one Gaussian cloud a class; 43 are no whole number of batches.

    With few inputs two classes can get the same weights in the first steps. The asymmetric softmax then takes one of
    them for the best by rounding alone, and its gradient jumps between them.
    """
    generator = torch.Generator().manual_seed(seed)
    if labels is None:
        labels = torch.randint(len(classes), (num_cases,), generator=generator)
    centres = torch.randn(len(classes), num_inputs, generator=torch.Generator().manual_seed(99))
    inputs = centres[labels] + torch.randn(len(labels), num_inputs, generator=generator)
    return DeferralData.unasked(inputs, labels, [f"case {row}" for row in range(len(labels))], classes)


TRAIN, TEST = clouds(), clouds(20, seed=1)


def fit(train=TRAIN, test=TEST, expert=EXPERT, **settings):
    return heads.fit(train, test, expert, **{"seeds": (0, 1), "config": LINEAR, **settings})


def logits_of(result, surrogate="softmax"):
    return np.stack([scores.logits for scores in result.scores[surrogate]])


@contextmanager
def workers(count):
    """A pool of so many threads for the lab, as on a machine with so many cores."""
    heads._workers.cache_clear()
    with patch.object(heads, "num_processors", lambda: count):
        try:
            yield
        finally:
            heads._workers().shutdown()
            heads._workers.cache_clear()


def new_head(config, num_inputs, num_outputs, seed):
    def layer(fan_in, fan_out):
        made = nn.Linear(fan_in, fan_out)
        nn.init.zeros_(made.weight)
        nn.init.zeros_(made.bias)
        return made

    if config.kind == "linear":
        return layer(num_inputs, num_outputs)
    hidden = layer(num_inputs, config.hidden_units)
    draw = torch.randn(config.hidden_units, num_inputs, generator=torch_generator(seed, "weights"))
    hidden.weight.data.copy_(draw * math.sqrt(2 / num_inputs))
    return nn.Sequential(hidden, nn.ReLU(), layer(config.hidden_units, num_outputs))


def training_labels(train, seed, *, random):
    if not random:
        return train.labels
    return torch.randint(len(train.class_names), train.labels.shape, generator=torch_generator(seed, "labels"))


def slow_fit(train, test, expert, surrogate, seed, config, *, options=None, random_labels=False):
    """Logits (M, K+1) of one head that is trained on a surrogate."""
    labels = training_labels(train, seed, random=random_labels)
    right = (sample_answers(expert, labels, generator=torch_generator(seed, "answers")) == labels)[:, None]
    loss = partial(SURROGATES[surrogate].loss, **(options or {}))
    return slow_logits(train, test, seed, config, lambda logits, rows: loss(logits, labels[rows], right[rows]).mean())


def slow_logits(train, test, seed, config, loss_of):
    """Logits (M, K+1) of one head, by automatic differentiation, with the cosine rate written out.

    loss_of: the loss of a batch, from its logits and the rows that are in it.
    """
    head = new_head(config, train.inputs.shape[1], len(train.class_names) + 1, seed)
    optimizer = torch.optim.AdamW(head.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    batches = torch_generator(seed, "batches")
    steps, step = config.epochs * math.ceil(len(train) / config.batch_size), 0
    for _ in range(config.epochs):
        for rows in torch.randperm(len(train), generator=batches).split(config.batch_size):
            optimizer.param_groups[0]["lr"] = config.rate * (1 + math.cos(math.pi * step / steps)) / 2
            optimizer.zero_grad()
            loss_of(head(train.inputs[rows]), rows).backward()
            optimizer.step()
            step += 1
    return head(test.inputs).detach().numpy()
