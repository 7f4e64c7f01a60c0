"""Names, looks and words of the paper's results: methods and rules, kinds of findings, numbers with intervals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from app.kit.looks import ESTIMATORS, GREY, SYSTEMS, Look
from app.kit.numbers import count
from l2d_core.evaluation.measures import measure_of
from l2d_core.reproductions.findings import Finding

# Softmax and one-vs-all look as everywhere; a variant has the colour of its original, with another dash and marker.
METHODS = {
    "softmax": replace(SYSTEMS["softmax"], title="Softmax"),
    "one_vs_all": replace(SYSTEMS["one_vs_all"], title="One-vs-all"),
    "score": Look("Score", "#56B4E9", "triangle-down", (10, 4)),
    "confidence": Look("Confidence", "#009E73", "cross", (4, 2, 1, 2)),
    "triage": Look("Differentiable triage", "#CC79A7", "diamond", (2, 2)),
    "confidence_as_written": Look("Confidence, as defined in the paper's text", "#009E73", "triangle-left", (1, 3)),
    "selective": Look("Selective prediction", "#56B4E9", "triangle-right", (3, 3)),
    "compare_confidence": Look("Compare confidence", GREY, "triangle-up", (7, 2)),
}
SHOWN_FIRST = ("softmax", "one_vs_all", "score", "confidence", "triage")  # those of the paper
RULES = {
    "forced": "Forced: exactly this share is deferred",
    "capped": "Capped: at most this share, and only cases that the method itself would defer",
}
SCALING = {
    "none": replace(ESTIMATORS["sigmoid"], title="As trained"),
    "temperature": Look("Temperature", ESTIMATORS["sigmoid"].color, "triangle-up", (6, 3)),
    "slope and shift, the authors' rule": Look("The authors' rule", ESTIMATORS["sigmoid"].color, "diamond", (2, 2)),
}


@dataclass(frozen=True)
class KindOfFinding:
    """How a kind in `findings.KINDS` is shown."""

    icon: str
    title: str


FINDINGS = {
    "open": KindOfFinding(":material/help:", "inconclusive"),
    "agrees": KindOfFinding(":material/check_circle:", "as in the paper"),
    "differs": KindOfFinding(":material/error:", "different from the paper"),
    "beside": KindOfFinding(":material/arrow_right:", "about our numbers only"),
}


def tally(findings: Sequence[Finding]) -> str:
    """How many findings are of each kind, in Markdown."""
    counts = Counter(finding.kind for finding in findings)
    return ", ".join(f"{one.icon} **{counts[name]}** {one.title}" for name, one in FINDINGS.items() if counts[name])


def title_of(surrogate: str, estimator: str) -> str:
    """The title of what a row of a result is about; an unknown name is its own title."""
    for names, name in ((ESTIMATORS, estimator), (SCALING, estimator), (METHODS, surrogate), (SYSTEMS, surrogate)):
        if name in names:
            return names[name].title
    return estimator or surrogate


def is_percent(measure: str) -> bool:
    """Whether a measure is a share."""
    known = measure_of(measure)
    return known is None or known.percent


def estimate(row: Mapping[str, Any]) -> str:
    """Mean and half width of the interval of a row of a result."""
    if pd.isna(row["mean"]):
        return "n/a"
    scale, digits, unit = (100, 2, " %") if is_percent(row["measure"]) else (1, 4, "")
    interval = "" if pd.isna(row["half_width"]) else f" ± {scale * row['half_width']:.{digits}f}"
    return f"{scale * row['mean']:.{digits}f}{interval}{unit}"


def paper(row: Mapping[str, Any]) -> str:
    """The paper's number of a row, or nothing."""
    return "" if pd.isna(row["paper"]) else f"{100 * row['paper']:.2f} %"


def beside(row: Mapping[str, Any]) -> str:
    """Ours, n, seeds, and the paper's number, in a few words."""
    theirs = f"; paper {paper(row)}" if paper(row) else ""
    seeds = "1 seed" if row["seeds"] == 1 else f"{row['seeds']} seeds"
    return f"{estimate(row)} (n = {count(row['n'])}, {seeds}{theirs})"
