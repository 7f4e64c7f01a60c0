"""Runs side by side: a table of all measures of each of their estimators, as Markdown."""

from collections.abc import Sequence

import numpy as np

from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic, accuracies
from l2d_core.evaluation.measures import MEASURES
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.evaluation.summary import measure
from l2d_core.runs.folder import Run
from l2d_core.surrogates import SURROGATES

BINS, STRATEGY = 15, "equal_width"
SPLITS = ("validation", "test")


def markdown_table(runs: Sequence[Run], split: str) -> str:
    """A row a measure, a column an estimator of a run, each number with its n; on the "validation" or "test" cases.

    Measures that are not known of any of the runs are left out.
    """
    columns = {}
    for run in runs:
        scores = getattr(run, split)
        if not estimators_in(run):
            columns[f"{run.folder}: classifier"] = _alone(scores)
        for estimator in estimators_in(run):
            columns[f"{run.folder}: {estimator}"] = measure(scores, estimator, bins=BINS, strategy=STRATEGY)
    rows = [[f"{split}; ECE in {BINS} bins of equal width", *columns], ["---"] * (len(columns) + 1)]
    for name, described in MEASURES.items():
        shares = [column.get(name) for column in columns.values()]
        if any(share is not None for share in shares):
            rows.append([described.title, *(_cell(share, described.percent) for share in shares)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def estimators_in(run: Run) -> list[str]:
    """Those of its surrogate; none of a run that trained another loss, as of `baselines.network_losses`."""
    known = [run.config.surrogate] if run.config.surrogate in SURROGATES else []
    return [estimator for _, estimator in estimators_of(known)]


def _alone(scores: Scores) -> dict[str, Statistic]:
    """What is known of a network without a rule of its own to defer by."""
    shares = accuracies(scores, np.zeros(len(scores), dtype=bool))
    return {name: shares[name] for name in ("machine_alone", "expert_alone")}


def _cell(share: Statistic | None, in_percent: bool) -> str:
    if share is None or share.value is None:
        return "-"
    number = f"{100 * share.value:.1f} %" if in_percent else f"{share.value:.4f}"
    return f"{number} (n = {share.n:,})"
