"""The key numbers of each system at its operating point, and differences between systems in words."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from markupsafe import Markup

from app.kit.html import render
from app.kit.looks import Look
from app.kit.numbers import bins_of_ece, p_value, percent
from l2d_core.comparison.difference import Difference
from l2d_core.evaluation.accuracy import Statistic, averages
from l2d_core.evaluation.measures import MEASURES

Numbers = Mapping[str, Statistic]

ON_CARDS = ("system", "value", "coverage", "ece")
OF_CALIBRATION = (
    *("ece", "ece_by_chance", "overconfidence", "underconfidence", "squared_calibration_error", "cutoff_error"),
    *("kuiper_p_value", "spiegelhalter_p_value", "smooth_ece"),
    *("brier", "miscalibration", "discrimination", "uncertainty"),
)
_BINNED = ("ece", "ece_by_chance", "overconfidence", "underconfidence", "squared_calibration_error")
_IN_FILES = ("system", "value", "coverage", "machine_on_kept", "expert_on_deferred", "machine_alone", "expert_alone")
_IN_FILES += OF_CALIBRATION
TITLES = {name: MEASURES[name].title for name in _IN_FILES}
NO_CASES = "no examples"
WHAT_INTERVALS_ARE_OF = (
    "The intervals say how much each difference would vary with other test cases of the same kind, not with another "
    "training. Calibration is compared by the squared calibration error without bias, since chance inflates the ECE of "
    "the sharper system more."
)
SHEET = """<style>
.systems {display: grid; grid-template-columns: repeat(auto-fit, minmax(235px, 1fr)); gap: .6rem; margin: .1rem 0;}
.systems .kpi {padding-bottom: .55rem;}
.systems dl {display: grid; grid-template-columns: 1fr auto; gap: .1rem .6rem; margin: .3rem 0 0; padding: 0;
  font-size: .86rem;}
.systems dt {margin: 0; opacity: .85;} .systems dd {margin: 0; text-align: right; font-variant-numeric: tabular-nums;}
.systems dd b {font-size: 1.02rem;} .systems small {opacity: .75;}
.systems .name {overflow-wrap: anywhere; font-weight: 600; font-size: .95rem;}
[data-testid="stLayoutWrapper"]:has(> .st-key-compare-point) {position: sticky; top: 3.6rem; z-index: 80;
  padding: .35rem .2rem .1rem; border-radius: 0 0 .4rem .4rem; backdrop-filter: blur(16px) saturate(1.2);}
</style>"""


_CARDS = """
<div class="systems">{% for look, rows in cards %}
<div class="kpi" style="--look: {{ look.color }}"><div class="name">{{ look.title }}</div><dl>
{% for row in rows %}
<dt>{{ row.title }}</dt><dd>{% if row.value %}<b>{{ row.value }}</b>
{%- if row.was %} <small>(was {{ row.was }})</small>{% endif %} <small>{{ row.n }}</small>
{%- else %}not known without labels{% endif %}</dd>
{% endfor %}</dl></div>
{% endfor %}</div>
"""
_NAME = '<span class="mark" style="background: {{ look.color }}"></span><b>{{ look.title }}</b>'


def draw_cards(looks: Sequence[Look], now: Sequence[Numbers], before: Sequence[Numbers | None], bins: str) -> None:
    """One card per system. before: the numbers without recalibration, if there is one; bins: of the ECE, in words."""
    rows = [
        [_line(name, own[name], old[name] if old else None, bins) for name in ON_CARDS]
        for own, old in zip(now, before, strict=True)
    ]
    st.html(SHEET)
    st.html(render(_CARDS, cards=list(zip(looks, rows, strict=True))))


def _line(name: str, share: Statistic, before: Statistic | None, bins: str) -> dict[str, str]:
    n = f"n = {share.n:,}"
    return {
        "title": TITLES[name],
        "value": "" if share.value is None else _share(name, share),
        "was": _share(name, before) if before else "",
        "n": Markup(f"{n}, {bins_of_ece(bins)}") if name == "ece" else n,
    }


def _share(name: str, share: Statistic) -> str:
    return percent(share.value, 2 if name == "ece" else 1)


def table(names: Sequence[str], numbers: Sequence[Numbers], bins: str) -> pd.DataFrame:
    """All key numbers for a file: system, measure, value (a fraction, or None), n, bins (of calibration errors)."""
    rows = [
        (name, measure, one[measure].value, one[measure].n, bins if measure in _BINNED else "")
        for name, one in zip(names, numbers, strict=True)
        for measure in TITLES
    ]
    return pd.DataFrame(rows, columns=["system", "measure", "value", "n", "bins"])


def accuracy_words(first: str, other: str, found: Difference) -> str:
    """How the system accuracies differ, as plain text: "B is 1.2 points better than A (95 % interval ...)"."""
    return _words(other, first, found, "system", "accuracy", ("more accurate", "less accurate"))


def calibration_words(first: str, other: str, found: Difference) -> str:
    """How the squared calibration errors differ, as plain text; 1 squared point is 0.0001."""
    sides = ("better calibrated", "worse calibrated")
    return _words(other, first, found, "squared_calibration_error", "calibration", sides)


def _words(other: str, first: str, found: Difference, measure: str, what: str, sides: tuple[str, str]) -> str:
    """sides: the words for better and for worse."""
    unit = "points" if MEASURES[measure].percent else "squared points"
    _points = _percent_points if MEASURES[measure].percent else _squared_points
    low, high = sorted((found.low, found.high)) if found.value >= 0 else sorted((-found.low, -found.high))
    interval = f"95 % interval {_points(low)} to {_points(high)}, n = {found.n:,}"
    if found.low == found.high:
        return f"{other} and {first} do not differ in {what}, n = {found.n:,}"
    better, worse = sides
    side = better if (found.value >= 0) == (MEASURES[measure].better == "higher") else worse
    if not found.is_clear:
        difference = f"{_points(abs(found.value))} {unit}"
        return f"{other} and {first} do not differ significantly: {difference} {side} ({interval})"
    return f"{other} is {_points(abs(found.value))} {unit} {side} than {first} ({interval})"


def _percent_points(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:.1f}"  # never -0.0


def _squared_points(value: float) -> str:
    return _percent_points(100 * value)


def written(name: str, value: float | None) -> str:
    """The value of a measure, in percent or, where that is not its unit, with 5 decimals; p-values as in `Measure`."""
    if value is not None and MEASURES[name].is_p_value:
        return MEASURES[name].text(value)
    return percent(value, 2) if value is None or MEASURES[name].percent else f"{value:.5f}"


def calibration_table(names: Sequence[str], numbers: Sequence[Numbers]) -> pd.DataFrame:
    """All measures of calibration as text: one row per measure, one column per system."""
    cells = {
        name: [f"{written(measure, one[measure].value)} (n = {one[measure].n:,})" for measure in OF_CALIBRATION]
        for name, one in zip(names, numbers, strict=True)
    }
    return pd.DataFrame(cells, index=[TITLES[measure] for measure in OF_CALIBRATION])


def is_calibrated_words(numbers: Numbers) -> str:
    """The result of the test of calibration, and on which side the estimates err, as plain text."""
    found = numbers["kuiper_p_value"]
    return (
        f"Is it calibrated? Kuiper's test: {p_value(found.value or 0.0)}, n = {found.n:,}. "
        f"ECE {percent(numbers['ece'].value)}: overconfidence {percent(numbers['overconfidence'].value)}, "
        f"underconfidence {percent(numbers['underconfidence'].value)}."
    )


def falls(first: Statistic, other: Statistic) -> bool:
    """Whether the other number is lower by at least 0.1 points."""
    return None not in (first.value, other.value) and first.value - other.value >= 0.001


def changed(name: str, old: Statistic, new: Statistic) -> str:
    """A measure before and after, such as "ECE 7.04 % before, 7.74 % after"."""
    return f"{TITLES[name]} {percent(old.value, 2)} before, {percent(new.value, 2)} after"


def lost_accuracy(old: Statistic, new: Statistic, found: Difference) -> str:
    """The same of the system accuracy, with the interval of the difference in points."""
    interval = f"{_percent_points(found.low)} to {_percent_points(found.high)}"
    return f"{changed('system', old, new)} (95 % interval of the change {interval} points)"


def name_of(look: Look) -> Markup:
    """A system's name after a mark in its colour."""
    return render(_NAME, look=look)


def correction_words(looks: Sequence[Look], corrections: Sequence[str]) -> Markup:
    """The correction fitted for each system, or why there is none. corrections: from `Evaluation`."""
    pairs = zip(map(name_of, looks), corrections, strict=True)
    return Markup(" &nbsp; ").join(Markup("{}: {}").format(*pair) for pair in pairs)


def confusion_table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Who is right with whom, as text, one column per system. tables: from `estimates.confusion`."""
    words = {True: "right", False: "wrong"}
    first = next(iter(tables.values()))
    pairs = zip(first["machine_right"], first["expert_right"], strict=True)
    rows = [f"machine {words[bool(one)]}, expert {words[bool(other)]}" for one, other in pairs]
    cells = {
        name: [
            f"{n:,} cases, {asked:,} deferred ({percent(asked / n if n else None, 0)})"
            for n, asked in zip(part["n"], part["n_deferred"], strict=True)
        ]
        for name, part in tables.items()
    }
    return pd.DataFrame(cells, index=rows)


def class_table(tables: Mapping[str, pd.DataFrame], experts: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """Accuracy by class in percent: of each expert alone, each system and its machine, and the share it defers.

    The last rows hold the shares of all cases and the means over classes. tables: from `accuracy.class_table`, by
    system; experts: from `Evaluation`.
    """
    parts = [pd.concat([part, averages(part)], ignore_index=True) for part in tables.values()]
    columns: dict[str, object] = {"class": parts[0]["class"], "n": parts[0]["n"]}
    columns |= {name: _percents(parts[group[0]]["expert_alone"]) for name, group in experts.items()}
    for name, part in zip(tables, parts, strict=True):
        columns[f"{name}: system"] = _percents(part["system"])
        columns[f"{name}: machine"] = _percents(part["machine_alone"])
        columns[f"{name}: deferred"] = _percents(part["deferred"])
    return pd.DataFrame(columns)


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Counts with commas, percentages with one decimal, words in place of NaN."""
    columns = {
        name: [f"{value:,}" if name == "n" else NO_CASES if np.isnan(value) else f"{value:.1f}" for value in column]
        for name, column in table.items()
    }
    return pd.DataFrame(columns, index=table.index)


def _percents(shares: pd.Series) -> np.ndarray:
    return np.round(100 * shares.to_numpy(dtype=float), 1)
