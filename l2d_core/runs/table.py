"""The measures of runs: a few of each for a table of many, and all of them side by side as Markdown."""

from collections.abc import Sequence

import numpy as np

from l2d_core.calibration.binned import calibration_error
from l2d_core.common.names import printable
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic, accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.measures import MEASURES, Measure, ece_column
from l2d_core.evaluation.probabilities import estimators_of, expert_pairs
from l2d_core.evaluation.summary import measure
from l2d_core.runs.folder import Run
from l2d_core.surrogates import SURROGATES

BINS, STRATEGY = 15, "equal_width"
SPLITS = ("validation", "test")


def run_measures(test: Scores) -> dict[str, float | None]:
    """system_accuracy, coverage and ece_<estimator> over the test cases; empty for a loss that is no surrogate."""
    if test.surrogate not in SURROGATES:
        return {}
    found = accuracies(test, defer_by_argmax(test.logits, test.num_experts))
    measures = {"system_accuracy": found["system"].value, "coverage": found["coverage"].value}
    for _, estimator in estimators_of([test.surrogate]):
        pairs = expert_pairs(test, estimator)
        measures[ece_column(estimator)] = calibration_error(*pairs, bins=BINS, strategy=STRATEGY)
    return measures


def markdown_table(runs: Sequence[Run], split: str) -> str:
    """One row per measure, one column per estimator of a run, each number with its n.

    split: "validation" or "test". Measures that are not known of any of the runs are left out.
    """
    columns = {}
    for run in runs:
        scores = getattr(run, split)
        if not estimators_in(run):
            columns[f"{run.folder}: classifier"] = _alone(scores)
        for estimator in estimators_in(run):
            columns[f"{run.folder}: {estimator}"] = measure(scores, estimator, bins=BINS, strategy=STRATEGY)
    rows = [[f"{split}; ECE in {BINS} bins of equal width", *columns]]
    for name, described in MEASURES.items():
        shares = [column.get(name) for column in columns.values()]
        if any(share is not None for share in shares):
            rows.append([described.title, *(_cell(share, described) for share in shares)])
    return markdown_rows(rows)


def markdown_rows(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as a table, the first one its head."""
    # Not pandas' to_markdown: it needs another package, pads every cell, and lets a "|" in a name break the table.
    lines = [" | ".join(printable(" ".join(text.split())).replace("|", "\\|") for text in row) for row in rows]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join(["---"] * len(rows[0])), *lines[1:]])


def estimators_in(run: Run) -> list[str]:
    """Those of its surrogate; none of a run that trained another loss, as in `baselines.network_losses`."""
    known = [run.config.surrogate] if run.config.surrogate in SURROGATES else []
    return [estimator for _, estimator in estimators_of(known)]


def _alone(scores: Scores) -> dict[str, Statistic]:
    """What is known of a network without a rule of its own to defer by."""
    shares = accuracies(scores, np.zeros(len(scores), dtype=bool))
    return {name: shares[name] for name in ("machine_alone", "expert_alone")}


def _cell(share: Statistic | None, described: Measure) -> str:
    return "-" if share is None or share.value is None else f"{described.text(share.value)} (n = {share.n:,})"
