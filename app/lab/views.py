"""The views of the stage: each draws one chart per estimator or system, or all in one, beside the reference in grey."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.fits.tables import Tables
from app.kit import charts as kit_charts
from app.kit import numbers, section
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.lab import charts, message
from app.lab.state import Shown
from l2d_core.evaluation.measures import MEASURES, name_of_column

SIDE = 205  # pixels from 0 to 1 in a reliability diagram, before it is scaled to its column
SYSTEM, KEPT = "system_accuracy", "machine_accuracy"  # columns of the curves
Curves = Mapping[str, pd.DataFrame]
Rows = Mapping[tuple[str, str], numbers.Row]


def _chart(spec: kit_charts.Spec, key: str, name: str, text: str) -> None:
    """A chart of the size in its specification, which the style sheet scales to its column."""
    section.chart(spec, key, name, text, width="content")


def _side_by_side(estimators: Mapping[str, object]) -> list[tuple[str, DeltaGenerator]]:
    """A column per estimator, under its name."""
    columns = st.columns(len(estimators), gap="small")
    for estimator, column in zip(estimators, columns, strict=True):
        column.markdown(section.name_of(estimator), unsafe_allow_html=True)
    return list(zip(estimators, columns, strict=True))


def _draw_reliability(_curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
    rows = numbers.rows_of(tables.summary, "estimator")
    texts = {name: _reliability_text(rows, name, table) for name, table in tables.reliability.items()}
    if is_overlaid:
        names = ("mean_probability", "share_correct")
        _draw_overlaid("reliability", "Reliability diagrams", _lines(tables, reference, "reliability", names), texts)
        return
    for estimator, column in _side_by_side(tables.reliability):
        with column:
            spec = kit_charts.reliability(
                tables.reliability[estimator],
                tables.above_one[estimator],
                ESTIMATORS[estimator],
                is_bounded=kit_charts.is_bounded(estimator),
                before=_of_reference(reference, "reliability", estimator),
                side=SIDE,
            )
            _chart(
                spec,
                f"reliability-{estimator}",
                f"Reliability diagram of {ESTIMATORS[estimator].title}",
                texts[estimator],
            )


def _of_reference(reference: Shown | None, kind: str, estimator: str) -> pd.DataFrame | None:
    return None if reference is None else getattr(reference.tables, kind).get(estimator)


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


def _draw_above(_curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
    rows = numbers.rows_of(tables.summary, "estimator")
    highest = max(table["share"].max() for table in tables.estimates.values())
    texts = {
        name: f"Histogram of the estimates of {ESTIMATORS[name].title}. Above 1: "
        f"{numbers.cell(rows[name, 'above_one'])}."
        for name in tables.estimates
    }
    if is_overlaid:
        lines = _lines(tables, reference, "estimates", ("low", "share"))
        _draw_overlaid("above", "Histograms of the estimates", lines, texts)
        return
    for estimator, column in _side_by_side(tables.estimates):
        spec = charts.estimates(
            tables.estimates[estimator],
            ESTIMATORS[estimator],
            highest,
            _of_reference(reference, "estimates", estimator),
        )
        with column:
            title = f"Histogram of the estimates of {ESTIMATORS[estimator].title}"
            _chart(spec, f"above-{estimator}", title, texts[estimator])


def _draw_risk(_curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
    rows = numbers.rows_of(tables.summary, "estimator")
    texts = {name: _risk_text(rows, name, table) for name, table in tables.risk.items()}
    if is_overlaid:
        _draw_overlaid("risk", "Histograms of risk", _lines(tables, reference, "risk", ("low", "share")), texts)
        return
    highest = max(table["share"].max() for table in tables.risk.values())
    for estimator, column in _side_by_side(tables.risk):
        with column:
            spec = kit_charts.risk(
                tables.risk[estimator],
                tables.true_risk,
                estimator,
                is_bounded=kit_charts.is_bounded(estimator),
                before=_of_reference(reference, "risk", estimator),
                highest=highest,
                size=(charts.WIDTH, charts.HEIGHT),
            )
            _chart(spec, f"risk-{estimator}", f"Histogram of risk by {ESTIMATORS[estimator].title}", texts[estimator])


def _risk_text(rows: Rows, estimator: str, table: pd.DataFrame) -> str:
    low = float(table["share"].to_numpy()[table["high"].to_numpy() <= message.LOW_RISK].sum())
    return (
        f"Histogram of the risk predicted by {ESTIMATORS[estimator].title}. Wasserstein distance to the true risk "
        f"{numbers.estimate(rows[estimator, 'risk_distance'])}. Share of cases with a predicted risk below "
        f"{message.LOW_RISK}: {numbers.percent(low)}."
    )


Lines = Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def _lines(tables: Tables, reference: Shown | None, kind: str, columns: tuple[str, str]) -> Lines:
    """(title, "now" or "before") -> x and y of each estimator's line."""
    found = {}
    for when, one in (("before", None if reference is None else reference.tables), ("now", tables)):
        for estimator, table in ({} if one is None else getattr(one, kind)).items():
            x, y = (table[name].to_numpy(dtype=float) for name in columns)
            x = np.where(np.isneginf(x), 1 - kit_charts.ABOVE_ONE, x)
            found[ESTIMATORS[estimator].title, when] = (x[~np.isnan(y)], y[~np.isnan(y)])
    return found


_AXES = {
    "reliability": ("estimate of P(the expert is right)", "share right"),
    "above": ("estimate of P(the expert is right)", "share of cases"),
    "risk": ("risk = 1 - P(the expert is right)", "share of cases"),
}


def _draw_overlaid(view: str, name: str, lines: Lines, texts: Mapping[str, str]) -> None:
    looks = [ESTIMATORS[estimator] for estimator in texts]
    end = charts.END + charts.LAST_BAR if view == "above" else 1.0
    start = 1 - kit_charts.AXIS_END if view == "risk" else 0.0
    spec = charts.overlaid(charts.rows_of(lines), looks, _AXES[view], ends=(start, end), diagonal=view == "reliability")
    _chart(spec, f"overlaid-{view}", f"{name}, overlaid", " ".join(texts.values()))


def _draw_accuracy(curves: Curves, tables: Tables, reference: Shown | None, is_overlaid: bool) -> None:
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


# A view of `state.VIEWS` -> what draws it.
VIEWS: dict[str, Callable[[Curves, Tables, Shown | None, bool], None]] = {
    "reliability": _draw_reliability,
    "above": _draw_above,
    "risk": _draw_risk,
    "accuracy": _draw_accuracy,
}
