"""All measures of the estimators of a fit, and the tables behind its charts, over the seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from l2d_core.calibration import binned, cumulative
from l2d_core.calibration.brier import brier_decomposition
from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.calibration.smooth import smooth_calibration_error
from l2d_core.data import Scores
from l2d_core.evaluation import estimator_view
from l2d_core.evaluation.accuracy import Statistic, accuracies_of_flags, class_table
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import EstimatorView, view_scores
from l2d_core.evaluation.measures import MEASURES
from l2d_core.evaluation.probabilities import clip_probability, estimators_of, risk_distance, share_above_one
from l2d_core.surrogates import SURROGATES


def measure(
    scores: Scores, estimator: str, *, bins: int, strategy: str, true_probability: np.ndarray | None = None
) -> dict[str, Statistic]:
    """The measures in SUMMARY of one seed, each with its n; None where it is over 0 cases.

    The risk distance is left out where the true probability is not known. scores of one expert; estimator a name in its
    surrogate's `estimators`; true_probability (N,) in 0..1.
    """
    view = _view(scores, estimator)
    probability, correct = clip_probability(view.probability), view.expert_correct
    deferred = defer_by_argmax(scores.logits)
    above = share_above_one(view.probability, deferred)
    numbers = calibration_measures(probability, correct, bins=bins, strategy=strategy)
    if true_probability is not None:
        numbers["risk_distance"] = risk_distance(1 - probability, 1 - true_probability)
    return {
        **{name: Statistic(value, len(correct)) for name, value in numbers.items()},
        "above_one": above["all"],
        "above_one_of_deferred": above["deferred"],
        **accuracies_of_flags(view.machine_correct, correct, deferred),
    }


def calibration_measures(probability: np.ndarray, correct: np.ndarray, *, bins: int, strategy: str) -> dict[str, float]:
    """Every measure of calibration without the truth, of estimates in 0..1 (N,) and whether each came true (N,)."""
    how = {"bins": bins, "strategy": strategy}
    over, under = binned.signed_calibration_errors(probability, correct, **how)
    brier = brier_decomposition(probability, correct)
    return {
        "ece": binned.calibration_error(probability, correct, **how),
        "ece_by_chance": binned.calibration_error_by_chance(probability, **how),
        "overconfidence": over,
        "underconfidence": under,
        "cutoff_error": cumulative.cutoff_calibration_error(probability, correct),
        "kuiper_p_value": cumulative.kuiper_test(probability, correct).p_value,
        "spiegelhalter_p_value": cumulative.spiegelhalter_test(probability, correct).p_value,
        "smooth_ece": smooth_calibration_error(probability, correct),
        **{name: getattr(brier, name) for name in ("brier", "miscalibration", "discrimination", "uncertainty")},
    }


def summarise(
    scores: Mapping[str, Sequence[Scores]],
    *,
    bins: int = 15,
    strategy: str = "equal_width",
    true_probability: np.ndarray | None = None,
) -> pd.DataFrame:
    """Mean and interval over seeds of every measure of every estimator.

    scores: surrogate -> one `Scores` per seed, as in `LabFit.scores`. Columns: estimator, surrogate, measure, mean,
    half_width (of the 95 % interval over seeds), n (cases, the mean over seeds), seeds (that have any cases). mean
    and half_width are None where there is nothing to average. A p-value is combined over the seeds rather than
    averaged, and has no half_width.
    """
    rows = []
    for surrogate, estimator in estimators_of(list(scores)):
        seeds = [
            measure(one, estimator, bins=bins, strategy=strategy, true_probability=true_probability)
            for one in scores[surrogate]
        ]
        for name in seeds[0]:
            found = [seed[name] for seed in seeds]
            mean, half_width = over_seeds(name, [one.value for one in found])
            n = float(np.mean([one.n for one in found]))
            count = sum(one.value is not None for one in found)
            rows.append((estimator, surrogate, name, mean, half_width, n, count))
    columns = ["estimator", "surrogate", "measure", "mean", "half_width", "n", "seeds"]
    # As objects from the start: pandas would read a None among numbers as NaN.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"n": float, "seeds": int})


def over_seeds(name: str, values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """One number for a measure of several seeds, and half the width of its 95 % interval, None for a p-value."""
    if name in MEASURES and MEASURES[name].is_p_value:
        return cumulative.combined_p_value(values), None
    return mean_and_interval(values)


def pooled_view(scores: Sequence[Scores], estimator: str) -> EstimatorView:
    """The cases of all seeds through an estimator, one after another. scores: of one expert, asked in every case."""
    return estimator_view.pool([_view(one, estimator) for one in scores])


def _view(scores: Scores, estimator: str) -> EstimatorView:
    if scores.num_experts != 1 or (scores.answers < 0).any():
        raise ValueError("a comparison needs one expert and its answer in every case")
    return view_scores(scores, estimator)


@dataclass(frozen=True)
class ChartTables:
    """What the charts of one estimator draw.

    risk: the histogram of 1 - estimate, with a bin below 0; estimates: `estimator_view.estimate_histogram`.
    """

    reliability: pd.DataFrame
    above_one: pd.DataFrame
    risk: pd.DataFrame
    estimates: pd.DataFrame


def chart_tables(
    scores: Sequence[Scores], estimator: str, *, bins: int = 15, strategy: str = "equal_width"
) -> ChartTables:
    """All tables of an estimator, from the pooled cases of all seeds."""
    view = pooled_view(scores, estimator)
    return ChartTables(
        reliability=estimator_view.reliability(view, bins=bins, strategy=strategy),
        above_one=estimator_view.above_one(view),
        risk=estimator_view.risk_histogram(1 - view.probability, below_zero=True),
        estimates=estimator_view.estimate_histogram(view),
    )


def class_means(scores: Sequence[Scores]) -> pd.DataFrame:
    """`accuracy.class_table` with the case deferred by argmax, the mean over seeds, and each estimator's mean estimate.

    scores: of one surrogate, one per seed, with one expert. The estimates, those above 1 as 1, stand in a column each,
    named after the estimator; NaN for classes without cases.
    """
    first = class_table(scores[0], defer_by_argmax(scores[0].logits))
    tables = [class_table(one, defer_by_argmax(one.logits)).drop(columns=["class", "n"]) for one in scores]
    means = pd.DataFrame(np.mean([table.to_numpy() for table in tables], axis=0), columns=tables[0].columns)
    labels = np.concatenate([one.labels for one in scores])
    cases = np.bincount(labels, minlength=len(first))
    for estimator in SURROGATES[scores[0].surrogate].estimators:
        estimates = clip_probability(pooled_view(scores, estimator).probability)
        total = np.bincount(labels, estimates, minlength=len(first))
        means[estimator] = np.divide(total, cases, out=np.full(len(first), np.nan), where=cases > 0)
    return pd.concat([first[["class", "n"]], means], axis=1)


def coverage_curves(scores: Sequence[Scores]) -> pd.DataFrame:
    """`estimator_view.coverage_curve`, the mean over seeds; cases in the order of what asking gains."""
    curves = [estimator_view.coverage_curve(view_scores(one)) for one in scores]
    means = {name: np.mean([curve[name] for curve in curves], axis=0) for name in curves[0]}
    return pd.DataFrame({**means, "coverage": curves[0]["coverage"]})
