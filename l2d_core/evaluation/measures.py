"""The estimators of a fit side by side on the same test cases: one table of measures, and the tables behind charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from l2d_core.calibration import binned
from l2d_core.calibration.brier import brier_decomposition
from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.calibration.smooth import smooth_calibration_error
from l2d_core.data import Scores
from l2d_core.evaluation import accuracy
from l2d_core.evaluation.accuracy import Share
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.surrogates import SURROGATES

COVERAGES = np.linspace(0, 1, 101)
RISK_BIN = 0.05


@dataclass(frozen=True)
class Measure:
    """What a column of the summary means. cases: what its n counts; percent: a share, shown in percent."""

    title: str
    help: str
    cases: str = "test cases"
    percent: bool = True


MEASURES = {
    "ece": Measure(
        "ECE",
        "mean gap between estimate and share right, over bins, weighted by cases; estimates above 1 set to 1",
    ),
    "ece_by_chance": Measure(
        "ECE by chance alone",
        "what a perfectly calibrated estimator with these estimates and this n would show",
    ),
    "smooth_ece": Measure(
        "Smooth ECE", "calibration error without bins, by a kernel that picks its own width; estimates above 1 set to 1"
    ),
    "brier": Measure(
        "Brier score",
        "mean squared distance between the estimate and what came true, 0 or 1; estimates above 1 set to 1",
        percent=False,
    ),
    "miscalibration": Measure(
        "... of it miscalibration",
        "what the best increasing recalibration of these very cases would save",
        percent=False,
    ),
    "refinement": Measure("... of it refinement", "what the best recalibration would leave", percent=False),
    "above_one": Measure("Estimates above 1", "share of all test cases"),
    "above_one_of_deferred": Measure("Estimates above 1, of deferred", "share of the deferred cases", "deferred cases"),
    "risk_distance": Measure(
        "Risk distance",
        "Wasserstein distance of the predicted risk, estimates above 1 taken as 1, to the risk known by case or by "
        "class; where known by class only, not even a perfect estimate reaches 0",
    ),
    "system": Measure("System accuracy", "machine on the cases it keeps, expert on those it defers"),
    "coverage": Measure("Coverage", "share of the test cases that the machine keeps"),
    "machine_on_kept": Measure("Machine on kept cases", "accuracy of the machine on what it keeps", "kept cases"),
    "expert_on_deferred": Measure(
        "Expert on deferred cases", "accuracy of the expert on what is deferred", "deferred cases"
    ),
    "machine_alone": Measure("Machine alone", "accuracy of the machine if it kept every case"),
    "expert_alone": Measure("Expert alone", "accuracy of the expert on every case"),
}


def estimators_of(surrogates: Sequence[str]) -> list[tuple[str, str]]:
    """(surrogate, estimator) for each estimator of these surrogates, in the registry's order."""
    return [(name, estimator) for name in surrogates for estimator in SURROGATES[name].estimators]


def measure(
    scores: Scores, estimator: str, *, bins: int, strategy: str, true_probability: np.ndarray | None = None
) -> dict[str, Share]:
    """All MEASURES of one seed, each with its n; None where it is over 0 cases or where the truth is not known.

    scores of one expert; estimator a name in its surrogate's `estimators`; true_probability (N,) in 0..1.
    """
    raw, correct = _all_asked(scores, estimator)
    probability = accuracy.clip_probability(raw)
    deferred = defer_by_argmax(scores.logits)
    above = accuracy.share_above_one(raw, deferred)
    brier = brier_decomposition(probability, correct)
    how = {"bins": bins, "strategy": strategy}
    numbers = {
        "ece": binned.calibration_error(probability, correct, **how),
        "ece_by_chance": binned.calibration_error_by_chance(probability, **how),
        "smooth_ece": smooth_calibration_error(probability, correct),
        "brier": brier.brier,
        "miscalibration": brier.miscalibration,
        "refinement": brier.refinement,
    }
    if true_probability is not None:
        numbers["risk_distance"] = accuracy.risk_distance(1 - probability, 1 - true_probability)
    return {
        **{name: Share(value, len(correct)) for name, value in numbers.items()},
        "above_one": above["all"],
        "above_one_of_deferred": above["deferred"],
        **accuracy.accuracies(scores, deferred),
    }


def summarise(
    scores: Mapping[str, Sequence[Scores]],
    *,
    bins: int = 15,
    strategy: str = "equal_width",
    true_probability: np.ndarray | None = None,
) -> pd.DataFrame:
    """Mean and interval over seeds of every measure of every estimator.

    scores: surrogate -> one `Scores` a seed, as in `LabFit.scores`. Columns: estimator, surrogate, measure, mean,
    half_width (of the 95 % interval over seeds), n (cases, the mean over seeds), seeds (that have any cases). mean
    and half_width are None where there is nothing to average.
    """
    rows = []
    for surrogate, estimator in estimators_of(list(scores)):
        seeds = [
            measure(one, estimator, bins=bins, strategy=strategy, true_probability=true_probability)
            for one in scores[surrogate]
        ]
        for name in seeds[0]:
            shares = [seed[name] for seed in seeds]
            mean, half_width = mean_and_interval([share.value for share in shares])
            n = float(np.mean([share.n for share in shares]))
            count = sum(share.value is not None for share in shares)
            rows.append((estimator, surrogate, name, mean, half_width, n, count))
    columns = ["estimator", "surrogate", "measure", "mean", "half_width", "n", "seeds"]
    # As objects from the start: pandas would read a None among numbers as NaN.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"n": float, "seeds": int})


def pooled_pairs(scores: Sequence[Scores], estimator: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raw estimate, clipped estimate and "the expert was right", each (S * N,), of all seeds one after another."""
    raw, correct = (
        np.concatenate(parts) for parts in zip(*(_all_asked(one, estimator) for one in scores), strict=True)
    )
    return raw, accuracy.clip_probability(raw), correct


def _all_asked(scores: Scores, estimator: str) -> tuple[np.ndarray, np.ndarray]:
    """The raw estimate and "the expert was right", (N,) each, of a comparison's one expert, who answers every case."""
    if scores.num_experts != 1 or (scores.answers < 0).any():
        raise ValueError("a comparison needs one expert and its answer in every case")
    return accuracy.expert_probability(scores, estimator)[:, 0], scores.expert_correct[:, 0]


def reliability(
    scores: Sequence[Scores], estimator: str, *, bins: int = 15, strategy: str = "equal_width"
) -> pd.DataFrame:
    """`calibration.reliability_table` of all seeds pooled; `cases` and `cases_right` count the mean of a seed.

    Interval and band are those of one seed's number of cases: every seed scores the same cases, with answers drawn
    anew, so that more seeds are less evidence than more cases; both are a little too wide, rather than too narrow.
    """
    _, probability, correct = pooled_pairs(scores, estimator)
    return _reliability(probability, correct, len(scores), bins, strategy)


def above_one(scores: Sequence[Scores], estimator: str) -> pd.DataFrame:
    """The cases whose estimate is above 1: one row with share_correct, cases and cases_right a seed, or no row."""
    raw, _, correct = pooled_pairs(scores, estimator)
    return _above_one(raw, correct, len(scores))


@dataclass(frozen=True)
class ChartTables:
    """What the charts of one estimator draw: `reliability`, `above_one`, and the risk 1 - estimate, (S * N,), raw."""

    reliability: pd.DataFrame
    above_one: pd.DataFrame
    risk: np.ndarray


def chart_tables(
    scores: Sequence[Scores], estimator: str, *, bins: int = 15, strategy: str = "equal_width"
) -> ChartTables:
    """All tables of an estimator, from estimates that are computed once."""
    raw, probability, correct = pooled_pairs(scores, estimator)
    return ChartTables(
        _reliability(probability, correct, len(scores), bins, strategy), _above_one(raw, correct, len(scores)), 1 - raw
    )


def _reliability(
    probability: np.ndarray, correct: np.ndarray, num_seeds: int, bins: int, strategy: str
) -> pd.DataFrame:
    table = binned.reliability_table(probability, correct, bins=bins, strategy=strategy, repeats=num_seeds)
    table["cases"] = table["n"] / num_seeds
    table["cases_right"] = table["cases"] * table["share_correct"].fillna(0)
    return table


def _above_one(raw: np.ndarray, correct: np.ndarray, num_seeds: int) -> pd.DataFrame:
    above = raw > 1
    columns = ["share_correct", "cases", "cases_right"]
    if not above.any():
        return pd.DataFrame(columns=columns, dtype=float)
    rows = [(correct[above].mean(), above.sum() / num_seeds, correct[above].sum() / num_seeds)]
    return pd.DataFrame(rows, columns=columns)


def risk_histogram(risk: np.ndarray) -> pd.DataFrame:
    """Shares of cases by risk in bins of 0.05, the last one closed: low, high, share; negative risks are not in it.

    risk (N,), at most 1: 1 - expert_probability, not clipped. Shares are of all N, so that with the cases below 0
    they sum to 1.
    """
    edges = np.round(np.arange(0, 1 + RISK_BIN / 2, RISK_BIN), 10)
    counts, _ = np.histogram(np.round(risk[risk >= 0], 10), edges)  # rounded, or 1 - 0.8 would fall below 0.2
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "share": counts / max(len(risk), 1)})


def coverage_curves(scores: Sequence[Scores]) -> pd.DataFrame:
    """Accuracy against coverage, the mean over seeds at 101 coverages; cases in the order of `margin_of_scores`.

    Columns: coverage, system_accuracy, machine_accuracy (on the kept; NaN at coverage 0), optimal, random (system
    accuracy by the best and by a chance choice of what to defer).
    """
    seeds = [accuracy.curves_at(one, accuracy.margin_of_scores(one), COVERAGES) for one in scores]
    means = {name: np.mean([seed[name] for seed in seeds], axis=0) for name in seeds[0]}
    return pd.DataFrame({"coverage": COVERAGES, **means})
