"""The stage's own charts: raw estimates up to 300 %, accuracy against coverage, and several estimators in one."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import altair as alt
import numpy as np
import pandas as pd

from app.kit import charts
from app.kit.charts import Columns, Spec, arrow, finish, tooltips, with_data
from app.kit.looks import GREY, Look
from app.kit.numbers import percent
from app.lab.views import END, LAST_BAR

LINES = {"system": [1, 0], "optimal deferral": [6, 3], "random deferral": [2, 3]}
STAGE_WIDTH, COVERAGE_HEIGHT = 900, 240  # in pixels, at the least width of a projector
WIDTH, HEIGHT = 246, 275  # of the plots of one estimator, before they are scaled to their column
BEFORE = {"color": GREY, "strokeWidth": 2.5, "opacity": 0.75}


def estimates(table: pd.DataFrame, look: Look, highest: float, before: pd.DataFrame | None) -> Spec:
    """Histogram of the raw estimates, solid where the expert is right. highest: the share at which the axis ends.

    table, before: of `estimator_view.estimate_histogram`.
    """
    shown = table[:0] if before is None else before
    tables = {"bars": _bars(table[table["share"] > 0]), "before": _bars(shown), "highest": arrow({"share": [highest]})}
    return with_data(_estimates_spec(look), **tables, note=_parts(table))


def _bars(table: pd.DataFrame) -> Columns:
    low, high = (table[name].to_numpy(dtype=float) for name in ("low", "high"))
    names = [f"{a:.0%} and more" if np.isinf(b) else f"{a:.0%} to {b:.0%}" for a, b in zip(low, high, strict=True)]
    share, right = (table[name].to_numpy(dtype=float) for name in ("share", "share_right"))
    of_them = np.divide(right, share, out=np.zeros(len(share)), where=share > 0)
    ends = np.where(np.isinf(high), low + LAST_BAR, high)
    return arrow({"left": low, "end": ends, "share": share, "right": right, "of_them": of_them, "bin": names})


def _parts(table: pd.DataFrame) -> Columns:
    """The share of the cases up to 1 and above, and in what share of them the expert is right, in lines of text."""
    lines = []
    for name, part in (("up to 100 %", table[table["low"] < 1]), ("above 100 %", table[table["low"] >= 1])):
        share = float(part["share"].sum())
        if share > 0:
            right = float(part["share_right"].sum()) / share
            lines += [f"{name}: {percent(share)} of cases", f"expert right in {percent(right)}"]
    return arrow({"text": ["\n".join(lines)]})


def coverage(
    curves: Columns,
    points: Columns,
    rules: Columns,
    measure: str,
    looks: Sequence[Look],
    ends: tuple[float, float],
    width: float,
) -> Spec:
    """Accuracy against coverage, of one system or of several.

    curves: line (of LINES, or "before"), system, coverage, accuracy; points (operating points): system, coverage,
    accuracy; rules (horizontal references): text, accuracy. ends: what the accuracy axis includes; width: of the plot.
    """
    spec = _coverage_spec(measure, tuple(looks), width, len(rules["text"]) > 0)
    return with_data(spec, curves=curves, points=points, rules=rules, ends=arrow({"accuracy": list(ends)}))


def overlaid(
    rows: Columns,
    looks: Sequence[Look],
    axes: tuple[str, str],
    *,
    ends: tuple[float, float],
    diagonal: bool,
    points: bool,
) -> Spec:
    """One line per estimator; rows: title (of a look), when ("now" or "before"), x, y. ends: of the x axis.

    diagonal: of perfect calibration, in a chart of shares; points: at each row.
    """
    return with_data(_overlaid_spec(tuple(looks), axes, ends, diagonal, points), rows=rows)


@lru_cache(maxsize=16)
def _estimates_spec(look: Look) -> Spec:
    bars, before, note, highest = (alt.Chart(alt.NamedData(name)) for name in ("bars", "before", "note", "highest"))
    zone = alt.Chart(pd.DataFrame({"x": [1.0], "x2": [END + LAST_BAR]}))
    axis = alt.Axis(values=[0, 1, 2, 3], format=".0%", title="estimate of P(the expert is right)")
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, END + LAST_BAR], nice=False), axis=axis)
    y = alt.Y("share:Q", axis=alt.Axis(format="%", title="share of cases", tickCount=4))
    tooltip = [
        alt.Tooltip("bin:N", title="estimate"),
        *tooltips(("share", "share of cases", ".1%"), ("of_them", "expert right", ".1%")),
    ]
    place = {"x2": "end:Q", "y2": alt.Y2Datum(0), "tooltip": tooltip}
    place_of_text = {"align": "left", "baseline": "top", "dx": 6, "dy": 5}
    text = {**place_of_text, "color": GREY, "fontSize": 12, "lineBreak": "\n", "lineHeight": 17}
    return finish(
        charts.sized(
            alt.layer(
                zone.mark_rect(color=GREY, opacity=0.14).encode(x="x:Q", x2="x2:Q"),
                highest.mark_point(opacity=0, size=1).encode(y=y),
                bars.mark_rect(color=look.color, opacity=0.35).encode(x=x, y=y, **place),
                bars.mark_rect(color=look.color).encode(x=x, y="right:Q", **place),
                before.mark_line(**BEFORE, interpolate="step-after").encode(x=x, y=y),
                note.mark_text(**text).encode(x=alt.XDatum(1.0), y=alt.value(0), text="text:N"),
            ),
            WIDTH,
            HEIGHT,
        )
    )


def _filter(color: alt.Color) -> tuple[alt.Parameter, alt.Opacity]:
    """A legend whose entries show and hide the marks of their colour."""
    chosen = alt.selection_point(fields=[color.shorthand.partition(":")[0]], bind="legend", name="shown")
    return chosen, alt.condition(chosen, alt.value(1.0), alt.value(0.08))


def _channels(field: str, looks: tuple[Look, ...], symbol: str = "") -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """Colour, shape and dash by title, with one legend. symbol: of the legend, "" for each look's shape."""
    names = [look.title for look in looks]
    width = alt.Undefined if symbol == "stroke" else 0  # a dashed outline would disfigure a filled shape
    legend = alt.Legend(
        title=None,
        orient="bottom",
        direction="horizontal",
        labelLimit=300,
        symbolType=symbol or alt.Undefined,
        symbolStrokeWidth=width,
        symbolOpacity=1,
        symbolSize=120,
    )
    values = ([look.color for look in looks], [look.shape for look in looks], [list(look.dash) for look in looks])
    legends = (legend, None if symbol else legend, legend if symbol == "stroke" else None)
    return tuple(
        kind(field, scale=alt.Scale(domain=names, range=one), legend=own)
        for kind, one, own in zip((alt.Color, alt.Shape, alt.StrokeDash), values, legends, strict=True)
    )


@lru_cache(maxsize=32)
def _coverage_spec(measure: str, looks: tuple[Look, ...], width: float, with_references: bool) -> Spec:
    color, shape, _ = _channels("system:N", looks)
    if len(looks) == 1:
        color.legend = shape.legend = None
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal", symbolStrokeColor=GREY, columns=2)
    scale = alt.Scale(domain=list(LINES), range=list(LINES.values()))
    dash = alt.StrokeDash("line:N", scale=scale, legend=legend if with_references else None)
    axis = alt.Axis(format="%", title="coverage: share of cases kept")
    x = alt.X("coverage:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    y = alt.Y("accuracy:Q", scale=alt.Scale(zero=False), axis=alt.Axis(format="%", title=measure))
    tooltip = [
        alt.Tooltip("system:N"),
        alt.Tooltip("line:N"),
        *tooltips(("coverage", "coverage", ".1%"), ("accuracy", measure, ".1%")),
    ]
    curves, points, rules, ends = (alt.Chart(alt.NamedData(name)) for name in ("curves", "points", "rules", "ends"))
    before = curves.transform_filter("datum.line == 'before'").encode(x=x, y=y, detail="system:N")
    now = curves.transform_filter("datum.line != 'before'").encode(x=x, y=y, color=color, strokeDash=dash)
    chosen, opacity = _filter(color)
    layers = [
        ends.mark_point(opacity=0, size=1).encode(y=y),
        rules.mark_rule(color=GREY, strokeDash=[1, 3], strokeWidth=1.5).encode(y=y),
        # Each at the end where the curves are at the other's level.
        _rule_text(rules, "machine alone", y, align="left", x=0),
        _rule_text(rules, "expert alone", y, align="right", x=1),
        before.mark_line(**BEFORE),
        now.mark_line(strokeWidth=2.5).encode(opacity=opacity, tooltip=tooltip).add_params(chosen),
        points.mark_point(filled=True, size=170, stroke="white", strokeWidth=1.2).encode(
            x=x, y=y, color=color, shape=shape, opacity=opacity, tooltip=tooltip
        ),
    ]
    return finish(charts.sized(alt.layer(*layers), width, COVERAGE_HEIGHT, legend=True))


def _rule_text(rules: alt.Chart, text: str, y: alt.Y, *, align: str, x: int) -> alt.Chart:
    mark = {"color": GREY, "align": align, "baseline": "bottom", "dx": 4 - 8 * x, "dy": -2, "fontSize": 12}
    highest = rules.transform_filter(f"datum.text == '{text}'").transform_aggregate(accuracy="max(accuracy)")
    return highest.mark_text(**mark, text=text).encode(x=alt.XDatum(x), y=y)


@lru_cache(maxsize=16)
def _overlaid_spec(
    looks: tuple[Look, ...], axes: tuple[str, str], ends: tuple[float, float], diagonal: bool, points: bool
) -> Spec:
    color, shape, dash = _channels("title:N", looks, "" if points else "stroke")
    rows = alt.Chart(alt.NamedData("rows"))
    ticks = charts.TICKS if ends[1] < 2 else [0, 1, 2, 3]
    scale = alt.Scale(domain=list(ends), nice=False)
    x = alt.X("x:Q", scale=scale, axis=alt.Axis(values=ticks, format="%", title=axes[0]))
    y_scale = alt.Scale(domain=[0, 1]) if diagonal else alt.Undefined
    y = alt.Y("y:Q", scale=y_scale, axis=alt.Axis(format="%", title=axes[1]))
    chosen, opacity = _filter(color)
    tooltip = [alt.Tooltip("title:N", title="estimator"), *tooltips(("x", axes[0], ".1%"), ("y", axes[1], ".1%"))]
    now, before = (rows.transform_filter(f"datum.when == '{when}'").encode(x=x, y=y) for when in ("now", "before"))
    form = {} if diagonal else {"interpolate": "step-after"}
    layers = [
        before.mark_line(**BEFORE, **form).encode(detail="title:N", strokeDash=dash),
        now.mark_line(strokeWidth=2.5, **form)
        .encode(color=color, strokeDash=dash, opacity=opacity, tooltip=tooltip)
        .add_params(chosen),
    ]
    if diagonal:
        line = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
        layers.insert(0, line.mark_line(color=GREY, strokeWidth=1.2).encode(x=x, y=y))
    if points:
        marks = now.mark_point(filled=True, size=80).encode(color=color, shape=shape, opacity=opacity, tooltip=tooltip)
        layers.append(marks)
    if ends != (0.0, 1.0):  # estimates above 1, or risks below 0
        outside = (1.0, ends[1]) if ends[1] > 1 else (ends[0], 0.0)
        zone = alt.Chart(pd.DataFrame({"x": [outside[0]], "x2": [outside[1]]}))
        layers.insert(0, zone.mark_rect(color=GREY, opacity=0.14).encode(x="x:Q", x2="x2:Q"))
    return finish(charts.sized(alt.layer(*layers), STAGE_WIDTH - 80, COVERAGE_HEIGHT, legend=True))


def rows_of(parts: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]) -> Columns:
    """The rows of `overlaid`. parts: (title, when) -> x and y, of equal length."""
    columns: dict[str, list] = {"title": [], "when": [], "x": [], "y": []}
    for (title, when), (x, y) in parts.items():
        columns["title"] += [title] * len(x)
        columns["when"] += [when] * len(x)
        columns["x"] += list(x)
        columns["y"] += list(y)
    return arrow(columns)
