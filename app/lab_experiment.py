"""An experiment of the live lab: from its settings to all that its page draws, without a call to Streamlit."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from components.settings_panel import LabSettings
from l2d_core import comparison, lab
from l2d_core.data import DeferralData
from l2d_core.datasets import LAB_DATASETS, LabDataset
from l2d_core.experts import expert_correct_probability, per_class
from l2d_core.seeds import numpy_generator

# Fits bring threads of their own; the tables of a page are too small for more than one.
torch.set_num_threads(1)
# A fit makes thousands of short calls: it must not wait the usual 5 ms for another session's Python before each.
sys.setswitchinterval(0.0005)


@dataclass(frozen=True)
class Truth:
    """What is known of the expert: P(it is right), (N,) on the test cases; from the case itself, or from its class.

    On the plane, where there is one: points (G, 2), and (G,) whether the Bayes rule defers there.
    """

    probability: np.ndarray
    given_case: bool
    points: np.ndarray | None = None
    bayes_defers: np.ndarray | None = None


@dataclass(frozen=True)
class LabResult:
    """A fit with what does not depend on how it is looked at. curves: surrogate -> `comparison.coverage_curves`."""

    test: DeferralData
    num_train: int
    fit: lab.LabFit
    seconds: float
    truth: Truth
    curves: dict[str, pd.DataFrame]


def run(settings: LabSettings, on_progress: Callable[[float], bool]) -> LabResult:
    """Load, train and score what the settings ask for. on_progress as in `lab.fit`. OSError, ValueError say why not."""
    dataset = LAB_DATASETS[settings.dataset]
    splits = dataset.load(settings.seed, settings.noise)
    train = splits.train
    if settings.train_size is not None:
        train = train.sample(settings.train_size, generator=numpy_generator(settings.seed, "subset"))
    confusion = per_class(settings.accuracy, wrong=settings.wrong)
    truth = _truth(dataset, confusion, splits.test, settings.noise)
    start = time.perf_counter()
    fit = lab.fit(
        train,
        splits.test,
        confusion,
        surrogates=settings.surrogates,
        seeds=settings.seeds,
        config=settings.head,
        options={"softmax": {"alpha": settings.alpha}},
        random_labels=settings.random_labels,
        extra_inputs=None if truth.points is None else torch.from_numpy(truth.points),
        on_progress=on_progress,
    )
    seconds = time.perf_counter() - start
    curves = {name: comparison.coverage_curves(scores) for name, scores in fit.scores.items()}
    return LabResult(splits.test, len(train), fit, seconds, truth, curves)


def _truth(dataset: LabDataset, confusion: torch.Tensor, test: DeferralData, noise: float) -> Truth:
    if dataset.class_probability is None:
        return Truth(confusion.diagonal()[test.labels].numpy(), given_case=False)
    on_test = torch.from_numpy(dataset.class_probability(test.inputs.numpy(), noise))
    probability = expert_correct_probability(confusion, on_test).numpy()
    if dataset.plane is None:
        return Truth(probability, given_case=True)
    points = dataset.plane()
    on_points = torch.from_numpy(dataset.class_probability(points, noise))
    expert = expert_correct_probability(confusion, on_points)
    return Truth(probability, True, points, (expert >= on_points.amax(dim=1)).numpy())
