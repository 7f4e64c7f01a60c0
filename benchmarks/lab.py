"""How fast the live lab's engine is, and whether its comparison comes out as it should, at the page's own settings.

For each data set: wall and processor time of a fit (the page's first expert, head, epochs and 8 seeds, softmax and
one-vs-all), of each table that the page makes of it, and the numbers that are compared, with 95 % intervals over
the seeds.

    python benchmarks/lab.py [--repeats 7]

Prints tables in Markdown; exits 1 where a target of the project, all on HAM10000, is missed.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from report import Targets, machine, markdown_table, quantile

from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.common.environment import has_fast_bfloat16
from l2d_core.datasets import LAB_DATASETS, LabDataset
from l2d_core.evaluation import estimator_view, summary
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.experts.simulated import PRESETS, per_class
from l2d_core.lab import heads
from l2d_core.lab.heads import LabFit

PRECISION = "bfloat16" if has_fast_bfloat16() else "float32"  # as on the page
TARGET_DATASET = "ham10000"
MAX_FIT_SECONDS = 0.7
MAX_ECE_ONE_VS_ALL = 0.06
MIN_ECE_ODDS = 0.10
COMPARED = {
    "ECE odds": ("odds", "ece"),
    "ECE proxy": ("proxy", "ece"),
    "ECE one-vs-all": ("sigmoid", "ece"),
    "system softmax": ("odds", "system"),
    "system one-vs-all": ("sigmoid", "system"),
}


@dataclass(frozen=True)
class Timing:
    """Wall times of several calls in seconds, and the processor time of a call, the mean over them."""

    seconds: tuple[float, ...]
    cpu_seconds: float

    @property
    def median(self) -> float:
        return quantile(self.seconds, 0.5)


def timed(call: Callable[[], object], repeats: int) -> Timing:
    """Time `call`, after one that warms up."""
    call()
    seconds, cpu = [], time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return Timing(tuple(seconds), (time.process_time() - cpu) / repeats)


@dataclass(frozen=True)
class Estimate:
    """A share: its mean over seeds, and half the width of its 95 % interval. Written in percent."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, mean: float | None, half_width: float | None) -> "Estimate":
        """ValueError where there is nothing to average, or no interval."""
        if mean is None or half_width is None:
            raise ValueError(f"a mean over seeds with its interval is needed, got {mean} and {half_width}")
        return cls(mean, half_width)

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} ± {100 * self.half_width:.1f}"


@dataclass(frozen=True)
class Result:
    """All that is measured of one data set."""

    fit: Timing
    tables: dict[str, Timing]
    summary: pd.DataFrame
    advantage: Estimate


def first_accuracy(dataset: LabDataset) -> list[float]:
    """The accuracies that the page starts from: the dermatologist where the classes are hers, else 75/20."""
    preset = PRESETS["dermatologist" if PRESETS["dermatologist"].fits(dataset.class_names) else "half"]
    return [round(value, 2) for value in preset.accuracy(dataset.class_names, 0).tolist()]


def measure(name: str, repeats: int) -> Result:
    """Fit and compare one data set, as the page does when it is opened."""
    dataset = LAB_DATASETS[name]
    splits = dataset.load(0, dataset.default_noise)
    confusion = per_class(first_accuracy(dataset))
    latest: list[LabFit] = []

    def fit() -> None:
        made = heads.fit(
            splits.train,
            splits.test,
            confusion,
            seeds=range(8),
            config=replace(dataset.head, precision=PRECISION),
            on_progress=lambda _share: True,
        )
        latest[:] = [made]

    timing = timed(fit, repeats)
    truth = confusion.diagonal()[splits.test.labels].numpy()
    tables = {title: timed(make, repeats) for title, make in table_makers(latest[0], truth).items()}
    tables["loading the data"] = timed(lambda: dataset.load(0, dataset.default_noise), repeats)
    table = summary.summarise(latest[0].scores, true_probability=truth)
    return Result(timing, tables, table, system_advantage(latest[0]))


def table_makers(fit: LabFit, truth: np.ndarray) -> dict[str, Callable[[], object]]:
    """What the page computes of a fit before it draws, each over all surrogates and estimators."""
    scores, pairs = fit.scores, estimators_of(list(fit.scores))
    return {
        "summarise": lambda: summary.summarise(scores, true_probability=truth),
        "reliability, 3 estimators": lambda: [
            estimator_view.reliability(summary.pooled_view(scores[s], e)) for s, e in pairs
        ],
        "above one, 3 estimators": lambda: [
            estimator_view.above_one(summary.pooled_view(scores[s], e)) for s, e in pairs
        ],
        "risk, 3 estimators": lambda: [
            estimator_view.risk_histogram(1 - summary.pooled_view(scores[s], e).probability) for s, e in pairs
        ],
        "coverage curves, 2 systems": lambda: [summary.coverage_curves(one) for one in scores.values()],
    }


def system_advantage(fit: LabFit) -> Estimate:
    """How much more accurate the one-vs-all system is than the softmax one, seed by seed."""
    systems = {
        name: np.array([accuracies(one, defer_by_argmax(one.logits))["system"].value for one in seeds])
        for name, seeds in fit.scores.items()
    }
    return Estimate.of(*mean_and_interval(systems["one_vs_all"] - systems["softmax"]))


def estimate_of(summary: pd.DataFrame, estimator: str, measured: str) -> Estimate:
    """One measure of one estimator, from the table of `comparison.summarise`."""
    rows = summary.set_index(["estimator", "measure"])
    return Estimate.of(*rows.loc[(estimator, measured), ["mean", "half_width"]])


def _fit_row(name: str, result: Result) -> list[str]:
    dataset = LAB_DATASETS[name]
    times = [f"{value:.2f}" for value in (result.fit.median, max(result.fit.seconds), result.fit.cpu_seconds)]
    measured = [estimate_of(result.summary, *which) for which in COMPARED.values()]
    return [dataset.title, dataset.head.kind, *times, *map(str, measured), str(result.advantage)]


def _table_rows(results: Mapping[str, Result]) -> list[list[str]]:
    titles = results[TARGET_DATASET].tables
    timings = {title: [result.tables[title] for result in results.values()] for title in titles}
    return [
        [title, *(f"{1000 * one.median:.0f} ({1000 * one.cpu_seconds:.0f})" for one in row)]
        for title, row in timings.items()
    ]


def _check_targets(result: Result) -> None:
    targets = Targets()
    fit, more = result.fit.median, result.advantage
    one_vs_all, odds = (estimate_of(result.summary, estimator, "ece") for estimator in ("sigmoid", "odds"))
    targets.check(fit < MAX_FIT_SECONDS, f"fit {fit:.2f} s (median), under {MAX_FIT_SECONDS} s")
    limit = f"under {MAX_ECE_ONE_VS_ALL:.0%}"
    targets.check(one_vs_all.mean < MAX_ECE_ONE_VS_ALL, f"ECE of one-vs-all {one_vs_all} %, {limit}")
    targets.check(odds.mean > MIN_ECE_ODDS, f"ECE of the softmax odds {odds} %, over {MIN_ECE_ODDS:.0%}")
    what = f"system accuracy of one-vs-all minus softmax's {more} points, not below 0 by more than its interval"
    targets.check(more.mean + more.half_width >= 0, what)
    targets.exit()


def main() -> None:
    """Measure every data set of the lab, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    print(machine("torch", "numpy", "pandas"), flush=True)
    results = {name: measure(name, repeats) for name in LAB_DATASETS}

    print(
        f"\nA fit: 20 epochs, 8 seeds, 2 surrogates, products in {PRECISION}; "
        f"median, maximum and processor time of {repeats} fits in seconds;"
    )
    print("ECE (15 bins of equal width) and system accuracies in percent\n")
    header = ["data", "head", "fit", "max", "CPU", *COMPARED, "one-vs-all minus softmax"]
    print(markdown_table(header, [_fit_row(name, result) for name, result in results.items()]))
    print("\nThe tables of a fit: median wall time (processor time) in milliseconds\n")
    header = ["table", *(LAB_DATASETS[name].title for name in results)]
    print(markdown_table(header, _table_rows(results)))
    _check_targets(results[TARGET_DATASET])


if __name__ == "__main__":
    main()
