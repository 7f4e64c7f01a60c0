"""Runs of a second or less for tests, on made-up images of 8 x 8 pixels."""

import numpy as np
import torch
from tiny_training import NAMES, tiny_data

from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.data import Scores, Splits
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.models.weights import Network, encode_weights
from l2d_core.runs import cases
from l2d_core.runs.folder import begin_run, save_progress, save_results

CONFIG = RunConfig(
    dataset="made",
    expert=ExpertConfig(accuracy=(0.9, 0.5, 0.2)),
    epochs=3,
    batch_size=16,
    learning_rate=0.02,
    precision="float32",
    augment="none",
)
NETWORK = Network("small_resnet", (3, 8, 8), NAMES, ("expert",))


def load_made(_data_root, seed, num_train=40):
    """Splits of tiny_data; the seed of the split makes other images."""
    return Splits(tiny_data(num_train, seed), tiny_data(20, seed + 1), tiny_data(12, seed + 2))


def add_made(monkeypatch):
    """Have the data set "made" among the known ones."""
    monkeypatch.setitem(cases.DATASETS, "made", load_made)


def report(epoch, loss=1.0):
    return EpochReport(epoch, 1.5, loss, 0.7, 0.6, 0.05, 0.01, 1234.5, 2.5)


def some_scores(num_cases=20, seed=0, surrogate=CONFIG.surrogate):
    generator = np.random.default_rng(seed)
    return Scores.from_arrays(
        generator.normal(size=(num_cases, 4)),
        generator.integers(0, 3, num_cases),
        generator.integers(0, 3, num_cases),
        surrogate=surrogate,
        class_names=NAMES,
    )


def write_run(folder, config=CONFIG, state="done", epochs=3):
    """A run that nobody trained."""
    begin_run(folder, config)
    save_progress(folder, [report(epoch) for epoch in range(1, epochs + 1)], {"wall_seconds": 7.5}, state)
    torch.manual_seed(0)
    save_results(folder, some_scores(), some_scores(seed=1), encode_weights(NETWORK.build(), NETWORK))
    return folder
