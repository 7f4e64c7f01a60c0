"""Charts from tables: one function per chart, which takes a table and returns a Vega-Lite specification.

The specification of a chart is built by Altair once and kept; a redraw only swaps the data beside it, so that the
browser updates the marks in place.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from app.kit.looks import ESTIMATORS, GREY, Look
from l2d_core.calibration.binned import without_above_one
from l2d_core.surrogates import SURROGATES

ABOVE_ONE = 1.1  # position of the marks of estimates above 1 on a probability axis
AXIS_END = 1.2
COUNTS_FLOOR, COUNTS_HEIGHT = -0.34, 0.24  # position and height of the bars of counts on the axis of shares
TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]

Spec = dict[str, Any]
Columns = dict[str, pa.Array]  # of equal length; Arrow, the browser's format, takes a tenth of a DataFrame's time


def reliability(
    table: pd.DataFrame,
    above_one: pd.DataFrame,
    look: Look,
    *,
    is_bounded: bool,
    before: pd.DataFrame | None = None,
    side: int | None = None,
) -> Spec:
    """Share right against estimate, bin by bin, over bars of counts that share the axis.

    table: of `estimator_view.reliability`. above_one: of `estimator_view.above_one`; its cases are drawn in their zone
    only. is_bounded: no estimate can be above 1, so there is no zone to mark. before: another such table, in grey.
    side: the pixels from 0 to 1 on both axes; None: as wide as there is room.
    """
    table = without_above_one(table, above_one)
    highest = max([*table["cases"].to_numpy(), *above_one["cases"].to_numpy(), 1])
    scale = COUNTS_HEIGHT / highest
    bars = []
    for part in (table, above_one):
        tops = {
            "bar": COUNTS_FLOOR + scale * part["cases"].to_numpy(),
            "bar_right": COUNTS_FLOOR + scale * part["cases_right"].to_numpy(),
        }
        bars.append({**arrow({name: part[name] for name in part.columns}), **arrow(tops)})
    tables = {"bins": bars[0], "above": bars[1]}
    tables["note"] = arrow({"text": [f"cases per bin, at most {highest:,.0f}; solid: expert right"]})
    if side is not None:
        shown = table[:0] if before is None else before[before["n"] > 0]
        tables["before"] = arrow({name: shown[name] for name in ("mean_probability", "share_correct")})
    return with_data(_reliability_spec(look, is_bounded, side), **tables)


def risk(
    predicted: pd.DataFrame,
    true: pd.DataFrame | None,
    estimator: str,
    *,
    is_bounded: bool,
    before: pd.DataFrame | None = None,
    highest: float = 0.0,
    size: tuple[float, float] | None = None,
) -> Spec:
    """Histogram of the predicted risk as bars, and of the true one as an outline, where there is one.

    All tables: low, high, share (of the cases); a first bin from -inf to 0 holds the cases with an estimate above 1,
    and is drawn with a width of its own. is_bounded: no estimate can be above 1, so there is no zone to mark. before:
    what was predicted before, as a grey line. highest: a share that the axis includes. size: width and height of the
    plot in pixels; None: as wide as there is room.
    """
    nothing = predicted[:0]
    tables = {"predicted": predicted, "true": nothing if true is None else true}
    tables["before"] = nothing if before is None else before
    placed = {name: place_below_zero(table) for name, table in tables.items()}
    spec = _risk_spec(estimator, is_bounded, size)
    return with_data(spec, **placed, highest=arrow({"share": [highest]}))


def is_bounded(estimator: str) -> bool:
    """Whether no estimate of this estimator can be above 1."""
    return next(one.is_bounded[estimator] for one in SURROGATES.values() if estimator in one.estimators)


def place_below_zero(table: pd.DataFrame) -> Columns:
    """A histogram of risk as columns left, right, share and bin; the bin of all risks below 0 has a fixed width."""
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    below = low < 0
    names = ["below 0" if under else f"{a:.2f} to {b:.2f}" for under, a, b in zip(below, low, high, strict=True)]
    left = np.where(below, 1 - ABOVE_ONE - 0.04, low)
    right = np.where(below, 1 - ABOVE_ONE + 0.04, high)
    return arrow({"left": left, "right": right, "share": table["share"], "bin": names})


def truth(table: pd.DataFrame, estimator: str) -> Spec:
    """The estimate against the true probability, one mark per case: columns true, estimate."""
    return with_data(_truth_spec(estimator), cases=arrow({name: table[name] for name in table.columns}))


def columns_of(names: Sequence[str], rows: Sequence[tuple[str | float | None, ...]]) -> Columns:
    """Columns from rows, which have one value per name; without rows they are empty."""
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return arrow({name: list(column) for name, column in zip(names, values, strict=True)})


def stacked(parts: Sequence[Mapping[str, pd.Series | str]]) -> Columns:
    """The parts concatenated; all have the same columns. A text stands for a constant column."""
    columns = {}
    for name, first in parts[0].items():
        if isinstance(first, str):
            columns[name] = pa.array([part[name] for part in parts for _ in range(_length(part))])
        else:
            columns[name] = pa.array(np.concatenate([part[name] for part in parts]), from_pandas=True)
    return columns


def _length(part: Mapping[str, pd.Series | str]) -> int:
    return next(len(column) for column in part.values() if not isinstance(column, str))


def arrow(columns: Mapping[str, Any]) -> Columns:
    """Arrow arrays, in which NaN becomes null."""
    return {name: pa.array(np.asarray(values), from_pandas=True) for name, values in columns.items()}


def with_data(spec: Spec, **tables: Columns) -> Spec:
    """The specification with these named tables added to its own."""
    data = {name: pa.table(columns) for name, columns in tables.items()}
    return {**spec, "datasets": {**spec.get("datasets", {}), **data}}


def _probability(title: str, *, labels: bool = True, end: float = AXIS_END) -> dict[str, Any]:
    return {
        "scale": alt.Scale(domain=[0, end], nice=False),
        "axis": alt.Axis(values=TICKS, format="%" if labels else "", labels=labels, title=title, grid=True),
    }


def tooltips(*fields: tuple[str, str, str]) -> list[alt.Tooltip]:
    """Tooltips of numbers: column, title, format."""
    return [alt.Tooltip(field, type="quantitative", title=title, format=form) for field, title, form in fields]


BIN_TOOLTIPS = (
    ("low", "bin from", ".1%"),
    ("high", "bin to", ".1%"),
    ("mean_probability", "mean estimate", ".1%"),
    ("share_correct", "expert right", ".1%"),
    ("cases", "cases per seed", ",.1f"),
)


@lru_cache(maxsize=64)  # a visitor's system may have any title
def _reliability_spec(look: Look, is_bounded: bool, side: int | None) -> Spec:
    layers = [*_reliability_ground(), *_reliability_marks(look), *_count_bars(look)]
    if side is not None:
        before = alt.Chart(alt.NamedData("before")).encode(x="mean_probability:Q", y="share_correct:Q")
        layers[2:2] = [before.mark_line(color=GREY, strokeWidth=2.5, opacity=0.75, point={"color": GREY, "size": 30})]
    if not is_bounded:
        zone = pd.DataFrame({"x": [1.0], "x2": [AXIS_END], "y": [0.0], "y2": [1.0]})
        layers.insert(0, _zone(zone).encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q"))
    if side is None:
        return finish(alt.layer(*layers).properties(height=320))
    return finish(sized(alt.layer(*layers), side * AXIS_END, side * (1 - COUNTS_FLOOR)))


def _reliability_ground() -> list[alt.Chart]:
    line = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    x = alt.X("low:Q", **_probability("estimate of P(the expert is right)"))
    return [
        alt.Chart(alt.NamedData("bins"))
        .mark_rect(color=GREY, opacity=0.28)
        .encode(x=x, x2="high:Q", y="band_low:Q", y2="band_high:Q"),
        alt.Chart(line).mark_line(color=GREY, strokeWidth=1.2).encode(x="x:Q", y="y:Q"),
    ]


def _zone(table: pd.DataFrame) -> alt.Chart:
    """The marked zone of estimates above 1."""
    return alt.Chart(table).mark_rect(color=GREY, opacity=0.14)


def _reliability_marks(look: Look) -> list[alt.Chart]:
    bins = alt.Chart(alt.NamedData("bins")).transform_filter("datum.n > 0")
    above = alt.Chart(alt.NamedData("above"))
    x = alt.X("mean_probability:Q")
    y = alt.Y(
        "share_correct:Q",
        scale=alt.Scale(domain=[COUNTS_FLOOR, 1], nice=False),
        axis=alt.Axis(values=TICKS, format="%", title="share right"),
    )
    point = {"filled": True, "size": 62, "color": look.color, "shape": look.shape, "opacity": 1}
    at_zone = alt.X(datum=ABOVE_ONE)
    tooltip = tooltips(("share_correct", "expert right", ".1%"), ("cases", "cases above 1, per seed", ",.1f"))
    return [
        bins.mark_line(color=look.color, strokeDash=list(look.dash), strokeWidth=1.5, opacity=0.7).encode(x=x, y=y),
        bins.mark_rule(color=look.color, strokeWidth=1.6).encode(x=x, y="interval_low:Q", y2="interval_high:Q"),
        bins.mark_point(**point).encode(x=x, y=y, tooltip=tooltips(*BIN_TOOLTIPS)),
        above.mark_point(**point).encode(x=at_zone, y="share_correct:Q", tooltip=tooltip),
        above.mark_text(dy=-12, color=GREY, fontSize=11, text="above 1").encode(x=at_zone, y="share_correct:Q"),
    ]


def _count_bars(look: Look) -> list[alt.Chart]:
    bins, above, note = (alt.Chart(alt.NamedData(name)) for name in ("bins", "above", "note"))
    zone = {"x": alt.XDatum(ABOVE_ONE - 0.04), "x2": alt.X2Datum(ABOVE_ONE + 0.04)}
    whole, right = ({"color": look.color, "opacity": opacity} for opacity in (0.3, 0.9))
    tooltip = tooltips(*BIN_TOOLTIPS)
    top = alt.Y("bar:Q")
    return [
        bins.mark_rect(**whole).encode(x="low:Q", x2="high:Q", y=top, y2=_floor(), tooltip=tooltip),
        bins.mark_rect(**right).encode(x="low:Q", x2="high:Q", y="bar_right:Q", y2=_floor(), tooltip=tooltip),
        above.mark_rect(**whole).encode(**zone, y=top, y2=_floor()),
        above.mark_rect(**right).encode(**zone, y="bar_right:Q", y2=_floor()),
        note.mark_text(align="left", baseline="top", color=GREY, fontSize=10.5, dx=2).encode(
            x=alt.XDatum(0), y=alt.YDatum(-0.02), text="text:N"
        ),
    ]


def _floor() -> alt.Y2Datum:
    return alt.Y2Datum(COUNTS_FLOOR)


@cache
def _risk_spec(estimator: str, is_bounded: bool, size: tuple[float, float] | None) -> Spec:
    look = ESTIMATORS[estimator]
    axis = alt.Axis(values=TICKS, format="%", title="risk = 1 - P(the expert is right)")
    x = alt.X("left:Q", scale=alt.Scale(domain=[1 - AXIS_END, 1], nice=False), axis=axis)
    y = alt.Y("share:Q", axis=alt.Axis(format="%", title="share of cases", tickCount=4))
    tooltip = [alt.Tooltip("bin:N", title="risk"), *tooltips(("share", "share of cases", ".1%"))]
    predicted, true, before, highest = (
        alt.Chart(alt.NamedData(name)) for name in ("predicted", "true", "before", "highest")
    )
    bars = {"x": x, "x2": "right:Q", "y": y, "y2": alt.Y2Datum(0), "tooltip": tooltip}
    layers = [
        predicted.mark_rect(color=look.color, opacity=0.75).encode(**bars),
        true.mark_rect(filled=False, fillOpacity=0, stroke=GREY, strokeWidth=1.8).encode(**bars),
        before.mark_line(color=GREY, strokeWidth=2.5, opacity=0.75, interpolate="step-after").encode(x=x, y=y),
        highest.mark_point(opacity=0, size=1).encode(y=y),
    ]
    if not is_bounded:
        layers.insert(0, _zone(pd.DataFrame({"x": [1 - AXIS_END], "x2": [0.0]})).encode(x="x:Q", x2="x2:Q"))
    chart = alt.layer(*layers)
    return finish(chart.properties(height=180) if size is None else sized(chart, *size))


@cache
def _truth_spec(estimator: str) -> Spec:
    look = ESTIMATORS[estimator]
    line = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
    cases = alt.Chart(alt.NamedData("cases"))
    x = alt.X("true:Q", **_probability("true P(the expert is right | x)", end=1.0))
    y = alt.Y("estimate:Q", **_probability("estimate"))
    return finish(
        alt.layer(
            line.mark_line(color=GREY).encode(x="x:Q", y="y:Q"),
            cases.mark_point(filled=True, size=14, opacity=0.5, color=look.color, shape=look.shape).encode(
                x=x, y=y, tooltip=tooltips(("true", "true", ".3f"), ("estimate", "estimate", ".3f"))
            ),
        ).properties(height=230)
    )


def sized(chart: alt.LayerChart, width: float, height: float, *, legend: bool = False) -> alt.LayerChart:
    """The chart with a plot of this size in pixels; with its axes it is always of one size too, but for a legend."""
    if legend:
        return chart.properties(width=width, height=height, autosize=alt.AutoSizeParams(type="pad"))
    padding = {"left": 72, "right": 9, "top": 9, "bottom": 58}
    return chart.properties(
        width=width, height=height, padding=padding, autosize=alt.AutoSizeParams(type="none", contains="content")
    )


def finish(chart: alt.TopLevelMixin) -> Spec:
    """The chart as a dict that contains its own small tables; named tables are filled in later."""
    spec = chart.to_dict(validate=False)  # the tests validate it
    # A screen reader reads a chart's numbers as text beside it (section.chart), not mark by mark.
    # Without this, marks whose tooltip is not set would show every column of their table.
    mark = {"aria": False, "tooltip": None}
    spec["config"] = {"legend": {"layout": {"bottom": {"direction": "vertical"}}}, "mark": mark}
    return spec
