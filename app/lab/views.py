"""The views of the stage: each draws one chart per estimator or system, or all in one, beside the reference in grey."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.fits.tables import Tables
from app.kit import charts as kit_charts
from app.kit import numbers, section
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.lab import message
from app.lab.state import Shown
from l2d_core.evaluation.measures import MEASURES, name_of_column

END, LAST_BAR = 3.0, 0.1  # the bar of all estimates from 3 on is as wide as two bins
SIDE = 205  # pixels from 0 to 1 in a reliability diagram, before it is scaled to its column
SYSTEM, KEPT = "system_accuracy", "machine_accuracy"  # columns of the curves
Curves = Mapping[str, pd.DataFrame]
Rows = Mapping[tuple[str, str], numbers.Row]


def _chart(spec: kit_charts.Spec, key: str, name: str, text: str) -> None:
    """A chart of the size in its specification, which the style sheet scales to its column."""
    section.chart(spec, key, name, text, width="content")


@dataclass(frozen=True)
class _PerEstimator:
    """A view of one chart per estimator.

    kind: of its tables in `Tables`; columns: of its line where all are in one chart, with the axes' titles and the
    ends of the first axis. name: of a chart, before the estimator's title. text: for screen readers. spec: of a chart,
    from all tables, the estimator, and the reference's table, None without one.
    """

    kind: str
    columns: tuple[str, str]
    axes: tuple[str, str]
    ends: tuple[float, float]
    name: str
    text: Callable[[Rows, str, pd.DataFrame], str]
    spec: Callable[[Tables, str, pd.DataFrame | None], kit_charts.Spec]


def draw(view: str, curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
    """Draw a view of `state.VIEWS`."""
    if view == "accuracy":
        _draw_accuracy(curves, tables, reference, is_overlaid)
        return
    how = _VIEWS[view]
    rows = numbers.rows_of(tables.summary, "estimator")
    parts = getattr(tables, how.kind)
    texts = {estimator: how.text(rows, estimator, table) for estimator, table in parts.items()}
    if is_overlaid:
        looks = [ESTIMATORS[estimator] for estimator in parts]
        from app.lab import charts

        lines = charts.rows_of(_lines(tables, reference, how))
        is_diagram = view in ("reliability", "corp")
        spec = charts.overlaid(lines, looks, how.axes, ends=how.ends, diagonal=is_diagram, points=view == "reliability")
        _chart(spec, f"overlaid-{view}", f"{how.name} all estimators, overlaid", " ".join(texts.values()))
        return
    old = {} if reference is None else getattr(reference.tables, how.kind)
    for estimator, column in zip(parts, st.columns(len(parts), gap="small"), strict=True):
        with column:
            st.markdown(section.name_of(estimator), unsafe_allow_html=True)
            spec = how.spec(tables, estimator, old.get(estimator))
            _chart(spec, f"{view}-{estimator}", f"{how.name} {ESTIMATORS[estimator].title}", texts[estimator])


def _lines(
    tables: Tables, reference: Shown | None, how: _PerEstimator
) -> Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """(title, "now" or "before") -> x and y of each estimator's line."""
    found = {}
    for when, one in (("before", None if reference is None else reference.tables), ("now", tables)):
        for estimator, table in ({} if one is None else getattr(one, how.kind)).items():
            x, y = (table[name].to_numpy(dtype=float) for name in how.columns)
            x = np.where(np.isneginf(x), 1 - kit_charts.ABOVE_ONE, x)
            found[ESTIMATORS[estimator].title, when] = (x[~np.isnan(y)], y[~np.isnan(y)])
    return found


def _reliability(tables: Tables, estimator: str, before: pd.DataFrame | None) -> kit_charts.Spec:
    return kit_charts.reliability(
        tables.drawn[estimator],
        tables.above_one[estimator],
        ESTIMATORS[estimator],
        is_bounded=tables.is_bounded[estimator],
        before=before,
        side=SIDE,
        most=kit_charts.most_cases(tables.drawn.values(), tables.above_one.values()),
    )


def _reliability_text(rows: Rows, estimator: str, bins: pd.DataFrame) -> str:
    n, share, low, high, gap = (
        bins[name].to_numpy() for name in ("n", "share_correct", "band_low", "band_high", "gap")
    )  # those of empty bins are NaN, which is neither below nor above
    outside = (share < low) | (share > high)
    return (
        f"Reliability diagram of {ESTIMATORS[estimator].title}. ECE {numbers.cell(rows[estimator, 'ece'])}. "
        f"{outside.sum()} of {(n > 0).sum()} bins with cases lie outside the band of a calibrated estimator; "
        f"{(gap > 0).sum()} lie above the diagonal. "
        f"Share of estimates above 1: {numbers.cell(rows[estimator, 'above_one'])}."
    )


def _corp(tables: Tables, estimator: str, before: pd.DataFrame | None) -> kit_charts.Spec:
    from app.kit import corp_chart

    bins = tables.reliability[estimator]
    return corp_chart.corp(tables.corp[estimator], bins, ESTIMATORS[estimator], before=before, side=SIDE)


def _corp_text(rows: Rows, estimator: str, curve: pd.DataFrame) -> str:
    outside = ((curve["share_correct"] < curve["band_low"]) | (curve["share_correct"] > curve["band_high"])).mean()
    names = ("kuiper_p_value", "miscalibration", "discrimination")
    told = ". ".join(f"{MEASURES[name].title}: {numbers.cell(rows[estimator, name])}" for name in names)
    return (
        f"Reliability diagram of {ESTIMATORS[estimator].title} without bins. The curve lies outside the band of a "
        f"calibrated estimator at {numbers.percent(float(outside))} of its points. {told}."
    )


def _estimates(tables: Tables, estimator: str, before: pd.DataFrame | None) -> kit_charts.Spec:
    from app.lab import charts

    highest = max(table["share"].max() for table in tables.estimates.values())
    return charts.estimates(tables.estimates[estimator], ESTIMATORS[estimator], highest, before)


def _estimates_text(rows: Rows, estimator: str, _table: pd.DataFrame) -> str:
    above = numbers.cell(rows[estimator, "above_one"])
    return f"Histogram of the estimates of {ESTIMATORS[estimator].title}. Above 1: {above}."


def _risk(tables: Tables, estimator: str, before: pd.DataFrame | None) -> kit_charts.Spec:
    from app.lab import charts

    return kit_charts.risk(
        tables.risk[estimator],
        tables.true_risk,
        estimator,
        is_bounded=tables.is_bounded[estimator],
        before=before,
        highest=max(table["share"].max() for table in tables.risk.values()),
        size=(charts.WIDTH, charts.HEIGHT),
    )


def _risk_text(rows: Rows, estimator: str, table: pd.DataFrame) -> str:
    low = float(table["share"].to_numpy()[table["high"].to_numpy() <= message.LOW_RISK].sum())
    return (
        f"Histogram of the risk predicted by {ESTIMATORS[estimator].title}. Wasserstein distance to the true risk "
        f"{numbers.estimate(rows[estimator, 'risk_distance'])}. Share of cases with a predicted risk below "
        f"{message.LOW_RISK}: {numbers.percent(low)}."
    )


_ESTIMATE, _SHARE = "estimate of P(the expert is right)", "share of cases"
_VIEWS = {
    "reliability": _PerEstimator(
        kind="drawn",
        columns=("mean_probability", "share_correct"),
        axes=(_ESTIMATE, "share right"),
        ends=(0.0, 1.0),
        name="Reliability diagram of",
        text=_reliability_text,
        spec=_reliability,
    ),
    "corp": _PerEstimator(
        kind="corp",
        columns=("estimate", "share_correct"),
        axes=(_ESTIMATE, "share right"),
        ends=(0.0, 1.0),
        name="Reliability diagram without bins of",
        text=_corp_text,
        spec=_corp,
    ),
    "above": _PerEstimator(
        kind="estimates",
        columns=("low", "share"),
        axes=(_ESTIMATE, _SHARE),
        ends=(0.0, END + LAST_BAR),
        name="Histogram of the estimates of",
        text=_estimates_text,
        spec=_estimates,
    ),
    "risk": _PerEstimator(
        kind="risk",
        columns=("low", "share"),
        axes=("risk = 1 - P(the expert is right)", _SHARE),
        ends=(1 - kit_charts.AXIS_END, 1.0),
        name="Histogram of risk by",
        text=_risk_text,
        spec=_risk,
    ),
}


def _draw_accuracy(curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
    from app.lab import charts

    rows = numbers.rows_of(tables.summary, "surrogate")
    names = list(curves)
    panels = [(names, SYSTEM)] if is_overlaid else [([name], SYSTEM) for name in names]
    panels.append((names, KEPT))
    for (group, column), place in zip(panels, st.columns(len(panels), gap="small"), strict=True):
        title = MEASURES[name_of_column(column)].title
        spec = charts.coverage(
            *_coverage_tables(curves, reference, rows, group, column),
            MEASURES[name_of_column(column)].words,
            [SYSTEMS[name] for name in group],
            _ends(curves, column),
            charts.STAGE_WIDTH / len(panels) - 80,
        )
        whose = " and ".join(SYSTEMS[name].title for name in group)
        text = " ".join([f"{title} against coverage.", *(_coverage_text(rows, name) for name in group)])
        with place:
            st.markdown(f"**{whose if column == SYSTEM else title}**")
            _chart(spec, f"{column}-{'-'.join(group)}", f"{title} against coverage, {whose}", text)


def _ends(curves: Curves, column: str) -> tuple[float, float]:
    """The ends of an accuracy axis that all systems share."""
    columns = [column, "optimal", "random"] if column == SYSTEM else [column]
    found = [curve[columns].to_numpy() for curve in curves.values()]
    return float(min(np.nanmin(one) for one in found)), float(max(np.nanmax(one) for one in found))


def _coverage_tables(
    curves: Curves, reference: Shown | None, rows: Rows, group: list[str], column: str
) -> tuple[kit_charts.Columns, kit_charts.Columns, kit_charts.Columns]:
    lines = {"system": column} | (
        {"optimal deferral": "optimal", "random deferral": "random"} if column == SYSTEM else {}
    )
    shown = [(name, line, curves[name], part) for name in group for line, part in lines.items()]
    old = {} if reference is None else reference.curves
    shown += [(name, "before", old[name], column) for name in group if name in old]
    drawn = [
        {"coverage": curve["coverage"], "accuracy": curve[part], "line": line, "system": SYSTEMS[name].title}
        for name, line, curve, part in shown
    ]
    own = [(SYSTEMS[name].title, rows[name, "coverage"]["mean"], rows[name, name_of_column(column)]) for name in group]
    points = [(title, coverage, row["mean"]) for title, coverage, row in own if row["mean"] is not None]
    alone = [("machine alone", rows[name, "machine_alone"]["mean"]) for name in group]
    alone += [("expert alone", rows[group[0], "expert_alone"]["mean"])]
    return (
        kit_charts.stacked(drawn),
        kit_charts.columns_of(("system", "coverage", "accuracy"), points),
        kit_charts.columns_of(("text", "accuracy"), alone if column == SYSTEM else []),
    )


def _coverage_text(rows: Rows, name: str) -> str:
    return (
        f"{SYSTEMS[name].title}: {numbers.estimate(rows[name, 'system'])} at its own coverage of "
        f"{numbers.estimate(rows[name, 'coverage'])}; machine alone {numbers.estimate(rows[name, 'machine_alone'])}, "
        f"expert alone {numbers.estimate(rows[name, 'expert_alone'])}."
    )
