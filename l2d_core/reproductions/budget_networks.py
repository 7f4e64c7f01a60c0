"""Error against budget with whole networks: the runs on each data set, in folders, and their errors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import torch

from l2d_core.baselines.budget_errors import RULES, BudgetPoint, budget_point, method_margins
from l2d_core.baselines.case_numbers import find_numbers, load_numbers
from l2d_core.baselines.classifier import fit_temperature
from l2d_core.baselines.network_losses import LOSSES
from l2d_core.common.checks import require_known
from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.datasets import LAB_DATASETS, galaxy_zoo, ham10000, hate_speech
from l2d_core.datasets.votes import ONE_VOTER
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL
from l2d_core.reproductions.request import Request
from l2d_core.reproductions.trained import run_all, trainings_table
from l2d_core.runs.cases import load_splits
from l2d_core.runs.folder import Run, is_done, open_run

BUDGETS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# Trained once; and once for each budget above 0. At 0 the latter are the classifier "score": no case is sent away.
ONCE = ("softmax", "one_vs_all", "score", "compare_confidence")
EACH_BUDGET = ("confidence", "triage", "triage_network")

_VOTER = ExpertConfig("human", name=ONE_VOTER)
_ADAM = {"optimizer": "adam", "weight_decay": 0.0, "schedule": "cosine_warmup"}
_TWEETS = RunConfig(
    dataset="hate_speech", model="text_cnn", expert=_VOTER, learning_rate=1e-3, batch_size=128, augment="none", **_ADAM
)
_GALAXIES = RunConfig(
    dataset="galaxy_zoo", model="small_resnet", expert=_VOTER, learning_rate=1e-3, batch_size=32, **_ADAM
)
_LESIONS = RunConfig(
    dataset="ham10000",
    model="resnet34",
    model_options={"pretrained": True},
    expert=ExpertConfig(accuracy=tuple(DERMATOLOGIST_RECALL[name] for name in LAB_DATASETS["ham10000"].class_names)),
    learning_rate=0.01,
    batch_size=256,
    epochs=100,
    schedule="cosine_warmup",
    warmup_epochs=5,
)
# Scale -> data set of the lab -> the settings of its networks, but for loss and seed.
NETWORKS: dict[str, dict[str, RunConfig]] = {
    "cpu": {
        "hate_speech": replace(_TWEETS, epochs=4, warmup_epochs=1),
        "galaxy_zoo": replace(_GALAXIES, epochs=12, warmup_epochs=2, dataset_options={"size": 48}),
    },
    "paper": {
        "ham10000": _LESIONS,
        "hate_speech": replace(_TWEETS, epochs=100, warmup_epochs=5),
        "galaxy_zoo": replace(
            _GALAXIES, model="resnet50", model_options={"pretrained": True}, epochs=100, warmup_epochs=5
        ),
    },
}


@dataclass(frozen=True)
class PlannedRun:
    """What a run trains: a loss and a seed, for one budget, or for all where the loss has none."""

    dataset: str
    loss: str
    budget: float | None
    seed: int

    @property
    def name(self) -> str:
        """Of its folder."""
        budget = "" if self.budget is None else f"-budget={self.budget:g}"
        return f"{self.dataset}-{self.loss}{budget}-seed={self.seed}"

    def config(self, base: RunConfig) -> RunConfig:
        """Its settings. A triage network learns from the classifier of the same budget and seed."""
        options: dict[str, float | str] = {} if self.budget is None else {"budget": self.budget}
        if self.loss == "triage_network":
            options["classifier"] = replace(self, loss="triage").name
        return replace(base, surrogate=self.loss, surrogate_options=options, seed=self.seed)


def networks_of(request: Request) -> dict[str, RunConfig]:
    """The data sets at the request's scale, and the settings of their networks. ValueError at the scale quick.

    ValueError for the reference's settings too, by which an expert answers anew in each batch: a voter cannot.
    """
    require_known("scale, of whole networks,", request.scale, NETWORKS)
    if request.reference:
        raise ValueError(
            "budgets of whole networks are not made as the authors ran it (--reference): answers would be drawn anew "
            "in each batch, and the voters of HateSpeech and Galaxy Zoo have answered once"
        )
    networks, epochs = NETWORKS[request.scale], request.epochs
    if epochs is None:
        return dict(networks)
    return {
        name: replace(own, epochs=epochs, warmup_epochs=min(own.warmup_epochs, epochs - 1))
        for name, own in networks.items()
    }


def plan_runs(dataset: str, seeds: Sequence[int]) -> list[PlannedRun]:
    """All runs on a data set."""
    once = [PlannedRun(dataset, loss, None, seed) for seed in seeds for loss in ONCE]
    each = [
        PlannedRun(dataset, loss, budget, seed)
        for seed in seeds
        for loss in EACH_BUDGET
        for budget in BUDGETS
        if budget
    ]
    return once + each


def network_points(request: Request) -> tuple[dict[str, list[BudgetPoint]], pd.DataFrame]:
    """Data set -> its points as in `budget_errors`; and a table with one row per run, as in `trained.trainings_table`.

    Runs are in runs-SCALE-budgets of the request's folder; finished ones are reused, others resumed. Raises what
    `trained.train_systems` raises.
    """
    folder, bases, plan, configs = _planned(request)
    if missing := missing_data(request):
        raise FileNotFoundError(" ".join(missing))
    first = {name: config for name, config in configs.items() if config.surrogate != "triage_network"}
    run_all(first, folder, request)
    run_all(configs, folder, request)  # triage networks, which learn from classifiers that are done
    runs = {name: open_run(folder / name, LOSSES) for name in configs}
    points = {
        dataset: [point for seed in request.seeds for point in _points(runs, dataset, seed, request.data_root)]
        for dataset in bases
    }
    tables = [trainings_table([runs[name]]).assign(setting=_setting(one)) for name, one in plan.items()]
    return points, pd.concat(tables, ignore_index=True)


# Data set -> a function that raises FileNotFoundError, with ways to get it, where it is missing.
_FIND: dict[str, Callable[[Path], object]] = {
    "ham10000": ham10000.list_images,
    "hate_speech": hate_speech.find_tweets,
    "galaxy_zoo": galaxy_zoo.list_images,
}


def missing_data(request: Request) -> list[str]:
    """What is missing of each data set that unfinished runs need, and how to get it.

    It is reported before the first training rather than in the middle of many.
    """
    folder, _, plan, configs = _planned(request)
    missing = []
    for name in sorted({plan[name].dataset for name, own in configs.items() if not is_done(folder / name, own)}):
        try:
            _FIND[name](Path(request.data_root))
        except FileNotFoundError as problem:
            missing.append(str(problem))
    return missing


def _planned(request: Request) -> tuple[Path, dict[str, RunConfig], dict[str, PlannedRun], dict[str, RunConfig]]:
    """The folder of the runs, `networks_of`, and by the name of each run what it trains and its settings."""
    assert request.folder is not None  # `Request`
    bases = networks_of(request)
    plan = {one.name: one for dataset in bases for one in plan_runs(dataset, request.seeds)}
    configs = {name: one.config(bases[one.dataset]) for name, one in plan.items()}
    return Path(request.folder) / f"runs-{request.scale}-budgets", bases, plan, configs


def _setting(one: PlannedRun) -> str:
    title = LAB_DATASETS[one.dataset].title.split(":")[0]
    return title if one.budget is None else f"{title}, budget {one.budget:.0%}"


def _expert_right(run: Run, data_root: Path) -> float:
    """The expert's accuracy on training cases, as given to a run of the loss "confidence"."""
    numbers = load_numbers(run.folder)
    if numbers is None:  # it came without its checkpoint
        splits = load_splits(run.config, data_root)
        numbers = find_numbers(run.config, splits, data_root, run.folder, torch.device("cpu"))
    assert numbers is not None  # that loss has them
    return float(numbers.train[0])


def _points(runs: Mapping[str, Run], dataset: str, seed: int, data_root: Path) -> Iterator[BudgetPoint]:
    once = {loss: runs[PlannedRun(dataset, loss, None, seed).name] for loss in ONCE}
    validation = once["score"].validation
    temperature = fit_temperature(validation.logits, validation.labels)
    right = _expert_right(runs[PlannedRun(dataset, "confidence", max(BUDGETS), seed).name], data_root)
    for budget in BUDGETS:
        each = {
            loss: runs[PlannedRun(dataset, loss, budget, seed).name] if budget else once["score"]
            for loss in EACH_BUDGET
        }
        trained = {loss: run.test for loss, run in {**once, **each}.items()}
        for method, scores, margin in method_margins(trained, temperature, right):
            for rule in RULES:
                yield budget_point(method, rule, budget, seed, scores, margin)
