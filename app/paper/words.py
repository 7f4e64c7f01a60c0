"""The words of the page of the paper: numbers with their interval, and which side a finding is on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from app.kit.numbers import count
from l2d_core.evaluation.measures import MEASURES
from l2d_core.reproductions.reproduction import TITLES


@dataclass(frozen=True)
class Side:
    """Of a finding. words: as `reproductions.findings` writes it; title: what it means."""

    words: tuple[str, ...]
    icon: str
    title: str


# The first that fits counts: one seed tells nothing, whichever side it is on.
SIDES = {
    "open": Side(
        ("not told apart by these seeds", "chance is not told apart", "nothing to compare", "no number of ours"),
        ":material/help:",
        "not told apart from chance",
    ),
    "agrees": Side(("as in the paper", "they agree within"), ":material/check_circle:", "as in the paper"),
    "differs": Side(("unlike in the paper", "more than our seeds differ"), ":material/error:", "unlike in the paper"),
    "beside": Side(("",), ":material/arrow_right:", "on our numbers alone"),
}


def side_of(finding: str) -> str:
    """A name in SIDES."""
    return next(name for name, side in SIDES.items() if any(words in finding for words in side.words))


def tally(findings: Sequence[str]) -> str:
    """How many findings are on each side, in Markdown."""
    sides = [side_of(finding) for finding in findings]
    return ", ".join(f"{one.icon} **{sides.count(name)}** {one.title}" for name, one in SIDES.items() if name in sides)


def is_percent(measure: str) -> bool:
    """Whether a measure is a share."""
    return measure not in MEASURES or MEASURES[measure].percent


def measure_title(measure: str) -> str:
    """What a measure is called; an unknown one stands for itself."""
    return TITLES.get(measure, measure)


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
