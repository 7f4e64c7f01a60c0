"""Charts of the paper's results: one function per chart, which takes tables and returns a Vega-Lite specification."""

from collections.abc import Mapping, Sequence
from functools import cache

import altair as alt
import numpy as np
import pandas as pd

from app.kit.charts import Columns, Spec, arrow, finish, tooltips, with_data
from app.kit.looks import GREY, Look

ODDS_END, LAST_BAR = 3.0, 0.1  # the bar of all estimates from 3 on is as wide as two bins
LEGEND_COLUMNS = 3
ROW_HEIGHT, AXIS_HEIGHT, LEGEND_HEIGHT = (
    24,
    60,
    22,
)  # in pixels: of a line of a ladder, and below all lines
CUT = 0.4  # how far intervals are drawn beyond the means, as a share of the span of all means
DODGE = 0.006  # distance between lines, as a share of the x range, so that their intervals do not overlap


def odds(table: pd.DataFrame, look: Look, highest: float) -> Spec:
    """Histogram of the raw estimates, those above 1 in full colour. low, high (NaN: no end), share; highest share."""
    low, high = (table[name].to_numpy(dtype=float) for name in ("low", "high"))
    endless = np.isnan(high)
    names = [
        f"{a:.2f} and more" if end else f"{a:.2f} to {b:.2f}" for a, b, end in zip(low, high, endless, strict=True)
    ]
    bars = arrow({"left": low, "right": np.where(endless, low + LAST_BAR, high), "share": table["share"], "bin": names})
    above = float(table["share"][low >= 1].sum())
    note = arrow({"text": [f"above 1: {above:.1%} of all cases"]})
    return with_data(_odds_spec(look), bars=bars, note=note, highest=arrow({"share": [highest]}))


def ladder(rows: pd.DataFrame, looks: Sequence[Look], axis: str, *, from_zero: bool = True) -> Spec:
    """Our numbers with intervals, and the paper's beside: per group one line for each look.

    rows: group, title (of a look), mean, half_width and paper (NaN: there is none), n, seeds; shares in 0..1.
    """
    known = rows[rows["mean"].notna()]
    mean, half = (known[name].to_numpy(dtype=float) for name in ("mean", "half_width"))
    names = {name: known[name].to_numpy() for name in ("group", "title")}
    both = ~np.isnan(half)
    intervals = {
        **{name: values[both] for name, values in names.items()},
        "low": np.clip(mean - half, 0, 1)[both],
        "high": np.clip(mean + half, 0, 1)[both],
    }
    ours = {**names, "value": mean, "n": known["n"], "seeds": known["seeds"]}
    theirs = rows[rows["paper"].notna()]
    papers = {"group": theirs["group"], "title": theirs["title"], "value": theirs["paper"].astype(float)}
    tables = {"ours": arrow(ours), "intervals": arrow(intervals), "papers": arrow(papers)}
    groups = tuple(dict.fromkeys(rows["group"]))
    return _filled(_ladder_spec(tuple(looks), groups, axis, from_zero), tables)


def curves(table: pd.DataFrame, looks: Sequence[Look], axes: tuple[str, str], form: str, ends: Sequence[float]) -> Spec:
    """Lines with intervals. table: title (of a look), x, y, half_width (NaN: none), n, seeds; y in 0..1.

    axes: titles; form: the format of x; ends: y values that the axis must include, for charts that share it.
    An interval that extends far beyond the chart is cut off.
    """
    known = table[table["y"].notna()]
    step = DODGE * (float(known["x"].max() - known["x"].min()) or 1.0)
    places = {look.title: (place - (len(looks) - 1) / 2) * step for place, look in enumerate(looks)}
    drawn = known["x"].to_numpy(dtype=float) + known["title"].map(places).to_numpy(dtype=float)
    points = {name: known[name] for name in ("title", "x", "y", "n", "seeds")}
    margin = max(CUT * (max(ends) - min(ends)), 0.01)
    intervals = _intervals(known, drawn, max(min(ends) - margin, 0), min(max(ends) + margin, 1))
    tables = {"points": arrow({**points, "drawn": drawn}), "intervals": intervals}
    return _filled(_curves_spec(tuple(looks), axes, form), {**tables, "ends": arrow({"y": list(ends)})})


def _filled(spec: Spec, tables: Mapping[str, Columns]) -> Spec:
    """The specification with these tables, without the layers whose tables are empty."""
    empty = {name for name, table in tables.items() if not len(next(iter(table.values())))}
    layers = [layer for layer in spec["layer"] if layer["data"].get("name") not in empty]
    return with_data({**spec, "layer": layers}, **{name: tables[name] for name in tables.keys() - empty})


def _intervals(known: pd.DataFrame, drawn: np.ndarray, least: float, most: float) -> Columns:
    """The intervals of the rows that have one, clipped to least and most."""
    y, half = (known[name].to_numpy(dtype=float) for name in ("y", "half_width"))
    both = ~np.isnan(half)
    low, high = (np.clip(y + side * half, least, most)[both] for side in (-1, 1))
    return arrow({"title": known["title"].to_numpy()[both], "drawn": drawn[both], "low": low, "high": high})


@cache
def _odds_spec(look: Look) -> Spec:
    zone = pd.DataFrame({"x": [1.0], "x2": [ODDS_END + LAST_BAR]})
    bars, note, highest = (alt.Chart(alt.NamedData(name)) for name in ("bars", "note", "highest"))
    axis = alt.Axis(values=[0, 1, 2, 3], format=".0%", title="estimate of P(the expert is right)")
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, ODDS_END + LAST_BAR], nice=False), axis=axis)
    y = alt.Y("share:Q", axis=alt.Axis(format="%", title="share of cases", tickCount=4))
    tooltip = [alt.Tooltip("bin:N", title="estimate"), *tooltips(("share", "share of cases", ".2%"))]
    shape = {"x": x, "x2": "right:Q", "y": y, "y2": alt.Y2Datum(0), "tooltip": tooltip}
    text = note.mark_text(align="left", baseline="top", dx=6, dy=5, fontSize=12, color=GREY)
    return finish(
        alt.layer(
            alt.Chart(zone).mark_rect(color=GREY, opacity=0.14).encode(x="x:Q", x2="x2:Q"),
            highest.mark_point(opacity=0, size=1).encode(y=y),
            bars.transform_filter("datum.left < 1").mark_rect(color=look.color, opacity=0.5).encode(**shape),
            bars.transform_filter("datum.left >= 1").mark_rect(color=look.color, opacity=1).encode(**shape),
            text.encode(x=alt.XDatum(1), y=alt.value(0), text="text:N"),
        ).properties(height=230)
    )


def _channels(looks: tuple[Look, ...], dash: bool) -> dict[str, alt.Color | alt.Shape | alt.StrokeDash]:
    """Colour, shape and, of lines, dash by title, with one legend for all."""
    names = [look.title for look in looks]
    legend = alt.Legend(
        title=None, orient="bottom", columns=LEGEND_COLUMNS, labelLimit=320, symbolOpacity=1, symbolStrokeWidth=0
    )
    kinds = {
        "color": (alt.Color, [look.color for look in looks]),
        "shape": (alt.Shape, [look.shape for look in looks]),
        "strokeDash": (alt.StrokeDash, [list(look.dash) for look in looks]),
    }
    if not dash:
        del kinds["strokeDash"]
    return {
        name: channel("title:N", scale=alt.Scale(domain=names, range=values), legend=legend)
        for name, (channel, values) in kinds.items()
    }


def _legend_rows(looks: tuple[Look, ...]) -> int:
    return -(-len(looks) // LEGEND_COLUMNS)


@cache
def _ladder_spec(looks: tuple[Look, ...], groups: tuple[str, ...], axis: str, from_zero: bool) -> Spec:
    names = [look.title for look in looks]
    ours, intervals, papers = (alt.Chart(alt.NamedData(name)) for name in ("ours", "intervals", "papers"))
    marks = _channels(looks, dash=False)
    color = marks["color"]
    label = alt.Axis(title=None, labelExpr="split(datum.label, ', ')", labelLimit=240, grid=True, tickBand="extent")
    rows = {
        "y": alt.Y("group:N", sort=list(groups), axis=label, scale=alt.Scale(paddingInner=0.25, paddingOuter=0.15)),
        "yOffset": alt.YOffset("title:N", sort=names, scale=alt.Scale(domain=names)),
    }
    x = alt.X(
        "value:Q",
        scale=alt.Scale(zero=from_zero),
        axis=alt.Axis(format="%" if from_zero else ".2%", title=axis, tickCount=8),
    )
    who = [alt.Tooltip("group:N", title="setting"), alt.Tooltip("title:N", title="estimate or system")]
    numbers = tooltips(("value", "ours", ".2%"), ("n", "test cases", ",.0f"), ("seeds", "seeds", "d"))
    hollow = {"filled": False, "size": 150, "strokeWidth": 1.8, "opacity": 1}
    return finish(
        alt.layer(
            intervals.mark_rule(strokeWidth=2).encode(**rows, x="low:Q", x2="high:Q", color=color),
            papers.mark_point(**hollow).encode(
                **rows, x=x, **marks, tooltip=[*who, *tooltips(("value", "paper", ".2%"))]
            ),
            ours.mark_point(filled=True, size=70, opacity=1).encode(**rows, x=x, **marks, tooltip=[*who, *numbers]),
        ).properties(
            height=len(groups) * (len(names) * ROW_HEIGHT + 8) + AXIS_HEIGHT + LEGEND_HEIGHT * _legend_rows(looks)
        )
    )


@cache
def _curves_spec(looks: tuple[Look, ...], axes: tuple[str, str], form: str) -> Spec:
    points, intervals, ends = (alt.Chart(alt.NamedData(name)) for name in ("points", "intervals", "ends"))
    marks = _channels(looks, dash=True)
    dash = marks.pop("strokeDash")
    x_axis = alt.Axis(format=form, title=axes[0], tickMinStep=1 if form == "d" else 0.1)
    x = alt.X("drawn:Q", scale=alt.Scale(zero=False, nice=False, padding=14), axis=x_axis)
    y = alt.Y("y:Q", scale=alt.Scale(zero=False), axis=alt.Axis(format="%", title=axes[1]))
    numbers = tooltips(
        *(("x", axes[0].partition(":")[0], form), ("y", axes[1], ".2%")),
        ("n", "test cases", ",.0f"),
        ("seeds", "seeds", "d"),
    )
    color = marks["color"]
    return finish(
        alt.layer(
            ends.mark_point(opacity=0, size=1).encode(y=y),
            intervals.mark_rule(strokeWidth=1.4, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q", color=color),
            points.mark_line(strokeWidth=2).encode(x=x, y=y, color=color, strokeDash=dash),
            points.mark_point(filled=True, size=60, opacity=1).encode(
                x=x, y=y, **marks, tooltip=[alt.Tooltip("title:N", title="system or method"), *numbers]
            ),
        ).properties(height=300 + LEGEND_HEIGHT * _legend_rows(looks))
    )
