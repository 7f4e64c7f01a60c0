"""The trained systems behind a reproduction: heads or whole networks, for each experiment and seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from l2d_core.common.paths import PRETRAINED
from l2d_core.common.seeds import torch_generator
from l2d_core.config import RunConfig
from l2d_core.data import Scores
from l2d_core.datasets import LAB_DATASETS
from l2d_core.datasets.cifar10 import CLASS_NAMES
from l2d_core.experts.simulated import expert_confusion, sample_answers
from l2d_core.lab import heads
from l2d_core.reproductions.experiment import HALF, LOGGED, Experiment
from l2d_core.reproductions.request import Request
from l2d_core.runs.folder import Run, list_runs, open_run

SURROGATES_COMPARED = ("softmax", "one_vs_all")
SHIPPED_RUNS = PRETRAINED / "runs"

BySurrogate = Mapping[str, Sequence[Scores]]


@dataclass(frozen=True)
class TrainedSystems:
    """Surrogate -> one `Scores` per seed, on the same test cases; validation: the same on held-out cases.

    true_probability: (N,), the true P(the expert is right | class of the case) of the test cases.
    trainings: of whole networks, as in `trainings_table`.
    """

    title: str
    test: BySurrogate
    validation: BySurrogate
    true_probability: np.ndarray
    trainings: pd.DataFrame | None = None


def train_systems(request: Request, experiments: Sequence[Experiment]) -> list[TrainedSystems]:
    """Softmax and one-vs-all systems for each of the experiments; at the scale quick the last ones are cached.

    ValueError or OSError where data are missing or a network could not be trained; it names the run.
    """
    if request.scale == "quick":
        return [_heads(experiment, request.dataset, request.seeds) for experiment in experiments]
    return _networks(request, experiments)


def first_expert_systems(request: Request) -> list[TrainedSystems]:
    """The paper's first expert, by its text and by the authors' logs (of networks one of the two), and what is shipped.

    Networks have the logged one where they are trained as the authors ran them.
    """
    by_text_and_logs = [HALF, LOGGED] if request.scale == "quick" else [LOGGED if request.as_authors else HALF]
    return train_systems(request, by_text_and_logs) + shipped_systems(request, HALF)


def shipped_systems(request: Request, experiment: Experiment) -> list[TrainedSystems]:
    """The shipped networks of this experiment, one seed each, as one more set of systems, or none."""
    if request.scale != "quick" or request.dataset != "cifar10" or not SHIPPED_RUNS.is_dir():
        return []
    found = {}
    for entry in list_runs(SHIPPED_RUNS):
        if entry.state == "done" and not entry.problem and entry.config and entry.config.dataset == "cifar10":
            run = open_run(entry.folder)
            if run.config.expert == experiment.expert(run.test.class_names) and not experiment.random_labels:
                found[run.config.surrogate] = run
    if not set(SURROGATES_COMPARED) <= set(found):
        return []
    test, validation = (
        {name: [getattr(found[name], part)] for name in SURROGATES_COMPARED} for part in ("test", "validation")
    )
    title = f"{experiment.title}, whole networks ({found['softmax'].config.model}), one seed"
    return [TrainedSystems(title, test, validation, _true_probability(experiment, test))]


@lru_cache(maxsize=24)
def _heads(experiment: Experiment, dataset: str, seeds: tuple[int, ...]) -> TrainedSystems:
    data = LAB_DATASETS[dataset]
    splits = data.load(0, data.default_noise)
    confusion = experiment.confusion(data.class_names)
    made = heads.fit(
        splits.train,
        splits.test,
        confusion,
        surrogates=SURROGATES_COMPARED,
        seeds=seeds,
        config=data.head,
        random_labels=experiment.random_labels,
        extra_inputs=splits.validation.inputs,
    )
    asked = [
        replace(
            splits.validation,
            answers=sample_answers(
                confusion, splits.validation.labels, generator=torch_generator(seed, "validation answers")
            )[:, None],
        )
        for seed in seeds
    ]
    validation = {
        name: [
            Scores.from_data(data, np.ascontiguousarray(logits), surrogate=name)
            for logits, data in zip(made.extra_logits[name], asked, strict=True)
        ]
        for name in SURROGATES_COMPARED
    }
    return TrainedSystems(experiment.title, made.scores, validation, _true_probability(experiment, made.scores))


def _true_probability(experiment: Experiment, test: BySurrogate) -> np.ndarray:
    first = next(iter(test.values()))[0]
    return expert_confusion(experiment.expert(first.class_names), first.num_classes).diagonal().numpy()[first.labels]


def network_configs(request: Request, experiment: Experiment) -> dict[tuple[str, int], RunConfig]:
    """(surrogate, seed) -> the settings of that run at the request's scale."""
    base = replace(
        request.network,
        expert=experiment.expert(CLASS_NAMES),
        random_labels=experiment.random_labels,
    )
    return {
        (name, seed): replace(base, surrogate=name, seed=seed) for name in SURROGATES_COMPARED for seed in request.seeds
    }


def runs_folder(request: Request) -> Path:
    """The folder of a request's networks, except those of budgets."""
    assert request.folder is not None  # `Request`
    return Path(request.folder) / f"runs-{request.scale}{'-reference' if request.as_authors else ''}"


def _networks(request: Request, experiments: Sequence[Experiment]) -> list[TrainedSystems]:
    """Trained in parallel as far as possible, each from where it was left off."""
    folder = runs_folder(request)
    configs = {
        f"{experiment.name}-{surrogate}-seed={seed}": config
        for experiment in experiments
        for (surrogate, seed), config in network_configs(request, experiment).items()
    }
    run_all(configs, folder, request)
    return [_opened(request, experiment, folder) for experiment in experiments]


def run_all(configs: Mapping[str, RunConfig], folder: Path, request: Request) -> None:
    """Train each config in folder/name by `cluster.run_many`. ValueError names the first that is not done."""
    from l2d_core.sweeps.cluster import run_many

    table = run_many(configs, data_root=request.data_root, out=folder, **request.where)
    undone = table.loc[table["state"] != "done", "run"].tolist()
    if undone:
        messages = dict(zip(table["run"], table["message"], strict=True))
        why = f" ({messages[undone[0]]})" if messages[undone[0]] else ""
        raise ValueError(
            f"{len(undone)} of {len(configs)} runs in {folder} are not done, the first is {undone[0]}{why}: "
            "see results.csv there; the same command again goes on"
        )


def _opened(request: Request, experiment: Experiment, folder: Path) -> TrainedSystems:
    runs = {
        name: [open_run(folder / f"{experiment.name}-{name}-seed={seed}") for seed in request.seeds]
        for name in SURROGATES_COMPARED
    }
    test = {name: [run.test for run in own] for name, own in runs.items()}
    validation = {name: [run.validation for run in own] for name, own in runs.items()}
    trainings = trainings_table([run for own in runs.values() for run in own])
    return TrainedSystems(experiment.title, test, validation, _true_probability(experiment, test), trainings)


def trainings_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row per run: surrogate, seed, epochs, seconds, device."""
    return pd.DataFrame(
        [
            {
                "surrogate": run.config.surrogate,
                "seed": run.config.seed,
                "epochs": len(run.history),
                "seconds": run.environment["wall_seconds"],
                "device": run.environment["device_name"],
            }
            for run in runs
        ]
    )


def trainings_of(systems: Sequence[TrainedSystems]) -> dict[str, pd.DataFrame]:
    """The detail table "trainings" of a reproduction: setting and the columns of `trainings_table`; {} for heads."""
    tables = [one.trainings.assign(setting=one.title) for one in systems if one.trainings is not None]
    return {"trainings": pd.concat(tables, ignore_index=True)} if tables else {}
