"""Charts from tables: one function per chart, which takes a table and returns a Vega-Lite specification.

The specification of a chart is built by Altair once and kept; a redraw only swaps the data beside it, so that the
browser updates the marks in place.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from app.kit import vega
from app.kit.looks import ESTIMATORS, GREY, Look
from app.kit.vega import Spec, layer, quantity

if TYPE_CHECKING:  # each chart imports it when it is first drawn: the lab's first ones do without
    import altair as alt

ABOVE_ONE = 1.1  # position of the marks of estimates above 1 on a probability axis
AXIS_END = 1.2
COUNTS_FLOOR, COUNTS_HEIGHT = -0.34, 0.24  # position and height of the bars of counts on the axis of shares
TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]

# A screen reader reads a chart's numbers as text beside it (section.chart), not mark by mark.
# Without "tooltip", marks whose tooltip is not set would show every column of their table.
CONFIG = {"legend": {"layout": {"bottom": {"direction": "vertical"}}}, "mark": {"aria": False, "tooltip": None}}
ZONE = {"color": GREY, "opacity": 0.14}  # the look of the marked zone of estimates above 1
_ZONE_PLACE = {"x": "x", "x2": "x2", "y": "y", "y2": "y2"}

Columns = dict[str, pa.Array]  # of equal length; Arrow, the browser's format, takes a tenth of a DataFrame's time


def reliability(
    table: pd.DataFrame,
    above_one: pd.DataFrame,
    look: Look,
    *,
    is_bounded: bool,
    before: pd.DataFrame | None = None,
    side: int | None = None,
    most: float = 1.0,
) -> Spec:
    """Share right against estimate, bin by bin, over bars of counts that share the axis.

    table: of `estimator_view.reliability`, by `without_above_one`. above_one: of `estimator_view.above_one`; its cases
    are drawn in their zone. is_bounded: no estimate can be above 1, so there is no zone to mark. before: another such
    table, in grey. side: the pixels from 0 to 1 on both axes; None: as wide as there is room. most: cases in a bin of
    the charts that it stands beside, so that their bars have one scale.
    """
    highest = max(most, most_cases([table], [above_one]))
    tables = {"bins": _with_bars(table, highest), "above": _with_bars(above_one, highest)}
    tables["note"] = arrow({"text": [f"cases per bin, at most {highest:,.0f}; solid: expert right"]})
    if side is not None:
        shown = table[:0] if before is None else before[before["n"] > 0]
        tables["before"] = arrow({name: shown[name] for name in ("mean_probability", "share_correct")})
    return with_data(_reliability_spec(look, is_bounded, side), **tables)


def most_cases(tables: Iterable[pd.DataFrame], above_one: Iterable[pd.DataFrame]) -> float:
    """The most cases in any bin of reliability tables, those above 1 included; at least 1."""
    return max(1.0, *(float(cases) for one in (*tables, *above_one) for cases in one["cases"].to_numpy()))


def _with_bars(table: pd.DataFrame, highest: float) -> Columns:
    scale = COUNTS_HEIGHT / highest
    heights = {"bar": "cases", "bar_right": "cases_right"}
    tops = {name: COUNTS_FLOOR + scale * table[column].to_numpy() for name, column in heights.items()}
    return arrow({**{name: table[name] for name in table.columns}, **tops})


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
    from l2d_core.surrogates import SURROGATES

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


BIN_TOOLTIPS = (
    ("low", "bin from", ".1%"),
    ("high", "bin to", ".1%"),
    ("mean_probability", "mean estimate", ".1%"),
    ("share_correct", "expert right", ".1%"),
    ("cases", "cases per seed", ",.1f"),
)


@lru_cache(maxsize=64)  # a visitor's system may have any title
def _reliability_spec(look: Look, is_bounded: bool, side: int | None) -> Spec:
    ground = [] if is_bounded else [layer([{"x": 1, "x2": AXIS_END, "y": 0, "y2": 1}], "rect", ZONE, **_ZONE_PLACE)]
    ground += _reliability_ground()
    if side is not None:
        before = {"color": GREY, "strokeWidth": 2.5, "opacity": 0.75, "point": {"color": GREY, "size": 30}}
        ground.append(layer("before", "line", before, x="mean_probability", y="share_correct"))
    layers = [*ground, *_reliability_marks(look), *_count_bars(look)]
    size = {"height": 320} if side is None else _size(side * AXIS_END, side * (1 - COUNTS_FLOOR))
    return {"layer": layers, **size, "config": CONFIG}


def _reliability_ground() -> list[Spec]:
    axis = {"values": TICKS, "format": "%", "title": "estimate of P(the expert is right)", "grid": True}
    x = quantity("low", scale={"domain": [0, AXIS_END], "nice": False}, axis=axis)
    band, line = {"color": GREY, "opacity": 0.28}, {"color": GREY, "strokeWidth": 1.2}
    return [
        layer("bins", "rect", band, x=x, x2="high", y="band_low", y2="band_high"),
        layer([{"x": 0, "y": 0}, {"x": 1, "y": 1}], "line", line, x="x", y="y"),
    ]


def _reliability_marks(look: Look) -> list[Spec]:
    scale, axis = {"domain": [COUNTS_FLOOR, 1], "nice": False}, {"values": TICKS, "format": "%", "title": "share right"}
    place = {"x": "mean_probability", "y": quantity("share_correct", scale=scale, axis=axis)}
    line = {"color": look.color, "strokeDash": list(look.dash), "strokeWidth": 1.5, "opacity": 0.7}
    rule = {"color": look.color, "strokeWidth": 1.6}
    point = {"filled": True, "size": 62, "color": look.color, "shape": look.shape, "opacity": 1}
    text = {"dy": -12, "color": GREY, "fontSize": 11, "text": "above 1"}
    above = (("share_correct", "expert right", ".1%"), ("cases", "cases above 1, per seed", ",.1f"))
    some = "datum.n > 0"
    return [
        layer("bins", "line", line, where=some, **place),
        layer("bins", "rule", rule, where=some, x="mean_probability", y="interval_low", y2="interval_high"),
        layer("bins", "point", point, where=some, **place, tooltip=vega.tooltips(BIN_TOOLTIPS)),
        layer("above", "point", point, x=ABOVE_ONE, y="share_correct", tooltip=vega.tooltips(above)),
        layer("above", "text", text, x=ABOVE_ONE, y="share_correct"),
    ]


def _count_bars(look: Look) -> list[Spec]:
    whole, right = ({"color": look.color, "opacity": opacity} for opacity in (0.3, 0.9))
    in_bins = {"x": "low", "x2": "high", "y2": {"datum": COUNTS_FLOOR}, "tooltip": vega.tooltips(BIN_TOOLTIPS)}
    in_zone = {"x": ABOVE_ONE - 0.04, "x2": ABOVE_ONE + 0.04, "y2": {"datum": COUNTS_FLOOR}}
    text = {"align": "left", "baseline": "top", "color": GREY, "fontSize": 10.5, "dx": 2}
    return [
        layer("bins", "rect", whole, **in_bins, y="bar"),
        layer("bins", "rect", right, **in_bins, y="bar_right"),
        layer("above", "rect", whole, **in_zone, y="bar"),
        layer("above", "rect", right, **in_zone, y="bar_right"),
        layer("note", "text", text, x=0, y=-0.02, text={"field": "text", "type": "nominal"}),
    ]


def tooltips(*fields: tuple[str, str, str]) -> "list[alt.Tooltip]":
    """Tooltips of numbers: column, title, format."""
    import altair as alt

    return [alt.Tooltip(field, type="quantitative", title=title, format=form) for field, title, form in fields]


@cache
def _risk_spec(estimator: str, is_bounded: bool, size: tuple[float, float] | None) -> Spec:
    import altair as alt

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
        zone = alt.Chart(pd.DataFrame({"x": [1 - AXIS_END], "x2": [0.0]}))
        layers.insert(0, zone.mark_rect(**ZONE).encode(x="x:Q", x2="x2:Q"))
    chart = alt.layer(*layers)
    return finish(chart.properties(height=180) if size is None else sized(chart, *size))


@cache
def _truth_spec(estimator: str) -> Spec:
    import altair as alt

    look = ESTIMATORS[estimator]
    line = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
    cases = alt.Chart(alt.NamedData("cases"))
    axes = {"true P(the expert is right | x)": 1.0, "estimate": AXIS_END}
    x, y = (
        {"scale": alt.Scale(domain=[0, end], nice=False), "axis": alt.Axis(values=TICKS, format="%", title=title)}
        for title, end in axes.items()
    )
    x, y = alt.X("true:Q", **x), alt.Y("estimate:Q", **y)
    return finish(
        alt.layer(
            line.mark_line(color=GREY).encode(x="x:Q", y="y:Q"),
            cases.mark_point(filled=True, size=14, opacity=0.5, color=look.color, shape=look.shape).encode(
                x=x, y=y, tooltip=tooltips(("true", "true", ".3f"), ("estimate", "estimate", ".3f"))
            ),
        ).properties(height=230)
    )


def sized(chart: "alt.LayerChart", width: float, height: float, *, legend: bool = False) -> "alt.LayerChart":
    """The chart with a plot of this size in pixels; with its axes it is always of one size too, but for a legend."""
    if legend:
        return chart.properties(width=width, height=height, autosize={"type": "pad"})
    return chart.properties(**_size(width, height))


def _size(width: float, height: float) -> Spec:
    padding = {"left": 72, "right": 9, "top": 9, "bottom": 58}
    return {"width": width, "height": height, "padding": padding, "autosize": {"type": "none", "contains": "content"}}


def finish(chart: "alt.TopLevelMixin") -> Spec:
    """The chart as a dict that contains its own small tables; named tables are filled in later."""
    spec = chart.to_dict(validate=False)  # the tests validate it
    spec["config"] = CONFIG
    return spec
