"""The one sentence above the charts: what the current view shows, computed from its tables."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from app.fits.tables import Tables
from app.kit import numbers
from app.kit.looks import ESTIMATORS, SYSTEMS

Rows = Mapping[tuple[str, str], Mapping[str, Any]]
LOW_RISK = 0.05
LEAST_SHARE = 0.0005  # what rounds to 0.0 % is never


def sentence(view: str, tables: Tables) -> str:
    """The sentence of a view, one of `state.VIEWS`."""
    return _SENTENCES[view](tables)


def _reliability(tables: Tables) -> str:
    rows = numbers.rows_of(tables.summary, "estimator")
    own, odds = rows["sigmoid", "ece"], rows["odds", "ece"]
    return (
        f"One-vs-all is off by {_points(own['mean'])} points on average, and chance alone would give "
        f"{_points(rows['sigmoid', 'ece_by_chance']['mean'])}; softmax odds are off by {_points(odds['mean'])}."
    )


def _corp(tables: Tables) -> str:
    rows = numbers.rows_of(tables.summary, "estimator")
    odds, own = (numbers.p_value(rows[name, "kuiper_p_value"]["mean"]) for name in ("odds", "sigmoid"))
    return f"Are the estimates calibrated? Kuiper's test: {odds} for softmax odds, {own} for one-vs-all."


def _above(tables: Tables) -> str:
    above = tables.above_one["odds"]
    if above.empty:
        return "Here softmax odds never claim more than 100 %."
    total = float(tables.reliability["odds"]["cases"].sum())
    share, right = float(above["cases"].iloc[0]) / total, float(above["share_correct"].iloc[0])
    return (
        f"Softmax odds claim more than 100 % in {numbers.percent(share)} of the cases; there the expert is right in "
        f"{numbers.percent(right)}."
    )


def _risk(tables: Tables) -> str:
    parts, low = [], numbers.percent(LOW_RISK, 0)
    for estimator in ("odds", "sigmoid"):
        share, wrong = _low_risk(tables.estimates[estimator])
        title = ESTIMATORS[estimator].title
        if share < LEAST_SHARE:
            parts.append(f"{title} never see{_s(title)} a risk below {low}")
        else:
            parts.append(
                f"{title} see{_s(title)} a risk below {low} in {numbers.percent(share)} of the cases, where "
                f"the expert is wrong in {numbers.percent(wrong)}"
            )
    return f"{parts[0]}; {parts[1][0].lower()}{parts[1][1:]}."


def _low_risk(estimates: pd.DataFrame) -> tuple[float, float]:
    """The share of the cases whose risk is below LOW_RISK, and in what share of these the expert is wrong."""
    part = estimates[estimates["low"] >= 1 - LOW_RISK - 1e-9]
    share = float(part["share"].sum())
    return share, 1 - float(part["share_right"].sum()) / share if share else 0.0


def _s(title: str) -> str:
    return "" if title.endswith("odds") else "s"


def _accuracy(tables: Tables) -> str:
    rows = numbers.rows_of(tables.summary, "surrogate")
    systems = [name for name in SYSTEMS if (name, "system") in rows]
    best = max(systems, key=lambda name: rows[name, "system"]["mean"])
    system, coverage, machine, expert = (
        rows[best, name]["mean"] for name in ("system", "coverage", "machine_alone", "expert_alone")
    )
    return (
        f"Together, machine and expert are right in {numbers.percent(system)} with the {_lower(SYSTEMS[best].title)}, "
        f"which defers {numbers.percent(1 - coverage)}; the machine alone is right in {numbers.percent(machine)}, the "
        f"expert alone in {numbers.percent(expert)}."
    )


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


_SENTENCES = {"reliability": _reliability, "corp": _corp, "above": _above, "risk": _risk, "accuracy": _accuracy}
