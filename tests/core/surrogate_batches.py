"""Batches for the tests of the surrogates, and the lists of losses and estimators that they run over."""

import torch

from l2d_core.surrogates import SURROGATES
from l2d_core.surrogates.one_vs_all import PHIS

NAMES = list(SURROGATES)
ESTIMATORS = [(name, estimator) for name in NAMES for estimator in SURROGATES[name].estimators]
LOSSES = [
    ("softmax", {}),
    ("softmax", {"alpha": 0.5}),
    ("softmax", {"alpha": 0.0}),
    *(("one_vs_all", {"phi": phi}) for phi in PHIS),
    ("asymmetric_softmax", {}),
]
SEVERAL = ["softmax", "one_vs_all"]  # those for several experts
ONE_AND_SEVERAL = [(name, options, 1) for name, options in LOSSES] + [
    (name, options, 3) for name, options in LOSSES if name in SEVERAL
]


def random_batch(num_cases=40, num_classes=4, num_experts=1, scale=2.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(num_cases, num_classes + num_experts, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, num_classes, (num_cases,), generator=generator)
    expert_correct = torch.rand(num_cases, num_experts, generator=generator) < 0.5
    return logits, labels, expert_correct


def batch(rows, label, right):
    """Float64 logits of the given rows, all with one label and one answer to "is the expert right?"."""
    logits = torch.tensor(rows, dtype=torch.float64)
    return logits, torch.full((len(rows),), label), torch.full((len(rows), 1), right)


def extreme_batch():
    """Two classes and an expert: all combinations of the sizes, both labels, right and wrong."""
    sizes = torch.tensor([0.0, 1e-8, -1e-8, 1.0, 200.0, -200.0, 1e4, -1e4], dtype=torch.float64)
    logits = torch.cartesian_prod(sizes, sizes, sizes).repeat(4, 1)
    quarter = len(logits) // 4
    labels = torch.tensor([0, 0, 1, 1]).repeat_interleave(quarter)
    expert_correct = torch.tensor([True, False, True, False]).repeat_interleave(quarter)[:, None]
    return logits, labels, expert_correct
