"""Error against budget: each method's error where only a share of the cases may be deferred, on three data sets."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from l2d_core.baselines import METHODS
from l2d_core.baselines.asked_cases import AskedCases, ask_people, ask_simulated
from l2d_core.baselines.budget_errors import AUTHORS_RULE, RULES, BudgetPoint, budget_errors
from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.common.seeds import numpy_generator
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.accuracy import Statistic
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL, per_class
from l2d_core.reproductions.budget_networks import network_points, networks_of
from l2d_core.reproductions.findings import ONE_SEED, WORDS, Difference, Finding, say_order
from l2d_core.reproductions.measured import Value, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request

BUDGETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
SHOWN = (0.2, 0.4, 0.6)  # in the table; all of them are in the details

_NOTES = (
    "Forced: exactly floor(bN) cases are deferred. Capped: at most, and only those that the method would defer by "
    "itself. Where the budget cuts a tie, errors are means over its orders. In the authors' code for HateSpeech "
    "softmax is forced and one-vs-all capped: the findings compare both rules, and that one.",
    "The score has no cap of its own, so that both its curves are forced. Confidence is trained, as in public code of "
    "the method, on what is left of a batch; the paper's text has it the other way round, which trains on nothing at "
    "budget 0{as_written}.",
    "Differentiable triage gets the expert's log likelihood from what its answers are drawn from, which the others are "
    "not given. It compares losses, not errors: where the expert is nearly sure to be right (all voters agree, or the "
    "mole is a nevus) its loss is near 0 and below the machine's, however easy the case, so that the easy cases go to "
    "the expert and the machine is trained on the rest. Where it errs more than the others, this is the likely cause.",
)
_LESIONS = "HAM10000: split by lesion; the expert has the paper's recalls in each class"
_MIXER = "The paper: split by image; the expert is an MLP-Mixer of image and metadata, right in 74 %."
_VOTERS = "HateSpeech and Galaxy Zoo: the expert is one voter, drawn for each seed and case"
_QUICK = (
    "All methods are heads on fixed features, with the same answers, batches and settings; the paper trains whole "
    "networks, from scratch or fine-tuned, for each method.",
    f"{_LESIONS}. {_VOTERS}; of Galaxy Zoo there are 1,000 galaxies here, 200 to test on.",
)
_NETWORKS = (
    "All methods are whole networks of the same architecture, trained by the same loop from the same first weights, "
    "with the same answers, batches and settings; differentiable triage has a second one, fitted to the best triage of "
    "the training cases. Of each run the epoch with the lowest loss on validation cases counts, by the method's own "
    "loss; of cases that confidence and triage send away, the expert's counts: for triage as given, for confidence the "
    "log loss of the share of right answers.",
    "At budget 0 confidence and triage train on all cases, and are the score's classifier. At budget 1 confidence "
    "trains on nothing while in no case the classifier is surer than the expert, as may be from first to last.",
    "The threshold of confidence and of selective prediction is the share of training cases in which the expert is "
    "right. The expert's answers are drawn for each seed and case, and are the same for all methods.",
)
# Data set -> the paper's settings of it.
_PAPER = {
    "ham10000": "resnet34, fine-tuned, stopped after 20 epochs without a lower validation loss, batches of 1,024, sgd, "
    "cosine up to 0.1, with crops, reflections and flips",
    "hate_speech": "fastText's 100 numbers a word and Kim's CNN, adam, cosine with 5 epochs of warm-up, stopped after "
    "20 epochs without a lower validation loss",
    "galaxy_zoo": "resnet50, 10,000 images, adam, cosine with 5 epochs of warm-up, stopped after 20 epochs without a "
    "lower validation loss",
}
_CPU = (
    "Smaller than in the paper: few epochs and one small network a data set; no HAM10000, whose images take too long "
    "to train on here; Galaxy Zoo's images are of 48 pixels, and its network is no ResNet50."
)
_NO_NUMBERS = "The paper shows these curves as figures, without numbers."


def budgets(request: Request) -> Reproduction:
    """Error of all methods on HAM10000 (not at the scale cpu), HateSpeech and Galaxy Zoo.

    details: "curves": dataset, method, rule, budget, error (mean over seeds), half_width, deferred, n, seeds; of whole
    networks "trainings" too. ValueError or OSError where data are missing or a network could not be trained.
    """
    start, details = time.perf_counter(), {}
    if request.scale == "quick":
        points = {name: measure_budgets(name, request.seeds) for name in CASES}
    else:
        points, details["trainings"] = network_points(request)
    return Reproduction(
        title="Error against budget",
        table=as_table(rows_of(_values(points))),
        details={
            "curves": pd.concat([_curves(name, own) for name, own in points.items()], ignore_index=True),
            **details,
        },
        notes=_notes(request, points),
        findings=tuple(finding for name, own in points.items() for finding in _findings(_title(name), own)),
        seconds=time.perf_counter() - start,
    )


def _notes(request: Request, points: Mapping[str, Sequence[BudgetPoint]]) -> tuple[str, ...]:
    """How the request's scale differs from the paper."""
    if request.scale == "quick":
        shared = tuple(note.format(as_written=", and is shown as a method of its own") for note in _NOTES)
        return (*shared, *_QUICK, _NO_NUMBERS)
    left_out = ", and is left out here: that network would not be trained at all"
    shared = tuple(note.format(as_written=left_out) for note in _NOTES)
    cases = {_title(name): own[0].n for name, own in points.items()}
    tested = " and ".join(f"{title} {n:,}" for title, n in cases.items())
    networks = networks_of(request)
    lesions = (f"{_LESIONS}. {_MIXER}",) if "ham10000" in networks else ()
    about = tuple(
        f"{_title(name)}: {own.model}, epochs at most {own.epochs}, stopped after {own.patience} without a lower "
        f"validation loss, batches of {own.batch_size}, {own.optimizer}, {own.schedule} up to {own.learning_rate:g}, "
        f"{own.warmup_epochs} of warm-up, augmentation {own.augment!r}. The paper: {_PAPER[name]}."
        for name, own in networks.items()
    )
    scale = (_CPU,) if request.scale == "cpu" else ()
    tests = f"Cases to test on: {tested}."
    return (*shared, *_NETWORKS, *scale, *lesions, f"{_VOTERS}.", *about, tests, _NO_NUMBERS)


def _ham10000(seeds: Sequence[int]) -> AskedCases:
    splits = LAB_DATASETS["ham10000"].load(0, 0.0)
    recalls = per_class([DERMATOLOGIST_RECALL[name] for name in splits.train.class_names])
    return ask_simulated(splits, recalls, seeds)


def _voted(name: str) -> Callable[[Sequence[int]], AskedCases]:
    def ask(seeds: Sequence[int]) -> AskedCases:
        data, nowhere = LAB_DATASETS[name], Path()
        crowd = data.people
        assert crowd is not None  # both have voters, whose votes are shipped with the features
        who = next(iter(crowd.names))
        return ask_people(
            data.load(0, 0.0),
            lambda ids, seed: crowd.answers(nowhere, ids, who, numpy_generator(seed, "human answers")),
            lambda ids, labels: crowd.right(nowhere, ids, labels),
            seeds,
        )

    return ask


# Data set of the lab -> its cases with the answers of its expert for these seeds.
CASES: dict[str, Callable[[Sequence[int]], AskedCases]] = {
    "ham10000": _ham10000,
    "hate_speech": _voted("hate_speech"),
    "galaxy_zoo": _voted("galaxy_zoo"),
}


@lru_cache(maxsize=len(CASES))
def measure_budgets(dataset: str, seeds: tuple[int, ...]) -> list[BudgetPoint]:
    """All points of a data set in CASES; the last ones are cached."""
    return budget_errors(CASES[dataset](seeds), LAB_DATASETS[dataset].head, BUDGETS)


def _title(dataset: str) -> str:
    return LAB_DATASETS[dataset].title.split(":")[0]


def _values(points: dict[str, list[BudgetPoint]]) -> list[Value]:
    return [
        Value(f"{_title(name)}, budget {one.budget:.0%}, {one.rule}", one.method, "", measure, Statistic(value, one.n))
        for name, own in points.items()
        for one in own
        if one.budget in SHOWN
        for measure, value in (("error", one.error), ("deferred", one.deferred))
    ]


def _curves(dataset: str, points: list[BudgetPoint]) -> pd.DataFrame:
    table = pd.DataFrame([asdict(one) for one in points])
    rows = []
    for (method, rule, budget), own in table.groupby(["method", "rule", "budget"], sort=False):  # pyright: ignore
        mean, half_width = mean_and_interval(own["error"].tolist())
        deferred = float(np.mean(own["deferred"].tolist()))
        rows.append((dataset, method, rule, budget, mean, half_width, deferred, own["n"].iloc[0], len(own)))
    names = ["dataset", "method", "rule", "budget", "error", "half_width", "deferred", "n", "seeds"]
    return pd.DataFrame(rows, columns=names).astype({"half_width": float})  # NaN for one seed


def _findings(title: str, points: list[BudgetPoint]) -> list[Finding]:
    there, inner = {one.method for one in points}, _inner(points)
    methods = [method for method in METHODS if method in there]
    errors = {(method, rule): _mean_errors(points, method, rule) for method in methods for rule in RULES}
    pairs = {rule: (errors["one_vs_all", rule], errors["softmax", rule]) for rule in RULES}
    theirs = (errors["one_vs_all", AUTHORS_RULE["one_vs_all"]], errors["softmax", AUTHORS_RULE["softmax"]])
    pairs["softmax forced and one-vs-all capped, as the authors"] = theirs
    span = f"mean error over budgets {inner[0]:.0%} to {inner[-1]:.0%}"
    said = [
        say_order(f"{title}, {span}, {rule}", ("one-vs-all", "softmax"), pair, None) for rule, pair in pairs.items()
    ]
    return said + [_rank(f"{title}, {span}, {rule}", {name: errors[name, rule] for name in methods}) for rule in RULES]


def _inner(points: list[BudgetPoint]) -> list[float]:
    """The budgets other than 0 and 1, at which a forced rule leaves nothing to decide."""
    return sorted({one.budget for one in points} - {0.0, 1.0})


def _mean_errors(points: list[BudgetPoint], method: str, rule: str) -> list[float | None]:
    """One per seed."""
    own = [one for one in points if (one.method, one.rule) == (method, rule) and 0 < one.budget < 1]
    seeds = dict.fromkeys(one.seed for one in own)
    return [float(np.mean([one.error for one in own if one.seed == seed])) for seed in seeds]


def _rank(what: str, errors: dict[str, list[float | None]]) -> Finding:
    """Which baselines one-vs-all is better than, by paired differences."""
    by_sign: dict[int, list[str]] = {-1: [], 1: [], 0: []}
    for name, own in errors.items():
        if name not in ("one_vs_all", "softmax"):
            mean, _ = mean_and_interval(own)
            by_sign[Difference.between(errors["one_vs_all"], own).sign].append(
                f"{WORDS.get(name, name)} ({100 * (mean or 0.0):.2f} %)"
            )
    words = {-1: "lower than", 1: "higher than", 0: "not significantly different from"}
    ranks = "; ".join(f"{words[sign]} {', '.join(names)}" for sign, names in by_sign.items() if names)
    mean, half_width = mean_and_interval(errors["one_vs_all"])
    alone = f" ({ONE_SEED})" if half_width is None else ""
    text = f"{what}, one-vs-all's {100 * (mean or 0.0):.2f} % is {ranks}{alone}."
    return Finding("open" if alone else "beside", text)
