"""Charts of systems side by side: tables in, Vega-Lite specifications out, built once and then filled."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from app.kit import charts
from app.kit.charts import ABOVE_ONE, AXIS_END, COUNTS_FLOOR, Columns, Spec, arrow, tooltips, with_data
from app.kit.looks import GREY, Look

SPECS_KEPT = 64  # charts hold names of systems, which are unlimited
BIN, RANGE = "bin", "range"  # names of the charts' selections
MARK = {"shape": "diamond", "size": 90, "filled": False, "strokeWidth": 2, "color": "#E69F00", "opacity": 1}


def reliability(
    table: pd.DataFrame, above_one: pd.DataFrame, marks: pd.DataFrame, look: Look, *, is_bounded: bool, most: float
) -> Spec:
    """`charts.reliability` in which a bin can be clicked, and cases are marked.

    table: has a column `chosen`, whether the bin is selected; marks: cases to mark, with id, probability, expert_right;
    most: as there.
    """
    spec = charts.reliability(table, above_one, replace(look, title=""), is_bounded=is_bounded, most=most)
    place = {
        "id": marks["id"],
        "x": np.minimum(marks["probability"], ABOVE_ONE),
        "probability": marks["probability"],
        "right": marks["expert_right"].astype(float),
    }
    spec = {**spec, "layer": [*spec["layer"], *_reliability_extras()]}
    return with_data(spec, marks=arrow(place))


def risk(table: pd.DataFrame, marks: pd.DataFrame, look: Look, *, is_bounded: bool, top: float) -> Spec:
    """The histogram of predicted risk, deferred cases in full colour, with marked cases below it.

    table: from `Comparison.risk`; marks as in `reliability`; top: where the axis of shares ends.
    """
    bars = {**charts.place_below_zero(table), **arrow({"deferred": table["share_deferred"]})}
    risks = np.maximum(1 - marks["probability"].to_numpy(dtype=float), 1 - ABOVE_ONE)
    spec = _risk_spec(replace(look, title=""), is_bounded, top)
    return with_data(spec, bars=bars, marks=arrow({"id": marks["id"], "risk": risks}))


def curves(lines: Columns, points: Columns, rules: Columns, looks: Sequence[Look], axes: tuple[str, str]) -> Spec:
    """Curves of systems, x in 0..1, with the operating point of each.

    lines: system, kind ("own", "optimal" or "random"), x, y; points: system, x, y; rules: y, text, color, above (text
    above the line). axes: titles.
    """
    return with_data(_curves_spec(tuple(looks), axes), lines=lines, points=points, rules=rules)


@cache
def _reliability_extras() -> list[dict[str, Any]]:
    """Layers on top: the full height of each bin, to be clicked; and cases, at 1 if the expert was right, else at 0."""
    bins, marks = alt.Chart(alt.NamedData("bins")), alt.Chart(alt.NamedData("marks"))
    chosen = alt.selection_point(name=BIN, fields=["low", "high"], toggle=False)
    target = (
        bins.mark_rect(color=GREY, cursor="pointer")
        .encode(
            x="low:Q",
            x2="high:Q",
            y=alt.YDatum(COUNTS_FLOOR),
            y2=alt.Y2Datum(1),
            opacity=alt.condition("datum.chosen", alt.value(0.22), alt.value(0)),
            tooltip=tooltips(*charts.BIN_TOOLTIPS),
        )
        .add_params(chosen)
    )
    tooltip = [alt.Tooltip("id:N"), *tooltips(("probability", "estimate", ".3f"), ("right", "expert right", ".0f"))]
    case = marks.mark_point(**MARK).encode(x="x:Q", y="right:Q", tooltip=tooltip)
    layers = alt.layer(target, case).to_dict(validate=False)
    params = [{key: value for key, value in param.items() if key != "views"} for param in layers.get("params", [])]
    target_layer, case_layer = layers["layer"]
    return [{**target_layer, "params": params}, case_layer]


@lru_cache(maxsize=SPECS_KEPT)
def _risk_spec(look: Look, is_bounded: bool, top: float) -> Spec:
    axis = alt.Axis(values=charts.TICKS, format="%", title="risk = 1 - P(the expert is right)")
    x = alt.X("left:Q", scale=alt.Scale(domain=[1 - AXIS_END, 1], nice=False), axis=axis)
    y_axis = alt.Axis(format="%", title="share of cases", tickCount=4)
    y = alt.Y("share:Q", axis=y_axis, scale=alt.Scale(domain=[0, top], nice=False))
    shares = tooltips(("share", "share of cases", ".1%"), ("deferred", "of all, deferred", ".1%"))
    tooltip = [alt.Tooltip("bin:N", title="risk"), *shares]
    bars, marks = alt.Chart(alt.NamedData("bars")), alt.Chart(alt.NamedData("marks"))
    whole = {"x": x, "x2": "right:Q", "y2": alt.Y2Datum(0), "tooltip": tooltip}
    layers = [
        bars.mark_rect(color=look.color, opacity=0.35).encode(**whole, y=y),
        bars.mark_rect(color=look.color, opacity=0.95).encode(**whole, y="deferred:Q"),
        marks.mark_point(**MARK).encode(x="risk:Q", y=alt.YDatum(0), tooltip=[alt.Tooltip("id:N")]),
    ]
    if not is_bounded:
        zone = alt.Chart(pd.DataFrame({"x": [1 - AXIS_END], "x2": [0.0]}))
        layers.insert(0, zone.mark_rect(color=GREY, opacity=0.14).encode(x="x:Q", x2="x2:Q"))
    return charts.finish(alt.layer(*layers).properties(height=180))


@lru_cache(maxsize=SPECS_KEPT)
def _curves_spec(looks: tuple[Look, ...], axes: tuple[str, str]) -> Spec:
    names = [look.title for look in looks]
    # Without a stroke: a line's dashes would break up the edge of its marker.
    legend = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=320, symbolStrokeWidth=0, symbolOpacity=1)
    color, shape, dash = (
        channel("system:N", scale=alt.Scale(domain=names, range=values), legend=legend)
        for channel, values in (
            (alt.Color, [look.color for look in looks]),
            (alt.Shape, [look.shape for look in looks]),
            (alt.StrokeDash, [list(look.dash) for look in looks]),
        )
    )
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", title=axes[0]))
    y = alt.Y("y:Q", scale=alt.Scale(zero=False), axis=alt.Axis(format="%", title=axes[1]))
    lines, points, rules = (alt.Chart(alt.NamedData(name)) for name in ("lines", "points", "rules"))
    numbers = tooltips(("x", axes[0].partition(":")[0], ".1%"), ("y", axes[1], ".2%"))
    tooltip = [alt.Tooltip("system:N"), alt.Tooltip("kind:N", title="line"), *numbers]
    faint = lines.transform_filter("datum.kind != 'own'").encode(x=x, y=y, color=color, detail="kind:N")
    own = lines.transform_filter("datum.kind == 'own'").encode(x=x, y=y, color=color, tooltip=tooltip)
    chosen = alt.selection_interval(name=RANGE, encodings=["x"])
    layers = [
        rules.mark_rule(strokeDash=[1, 3], strokeWidth=1.5).encode(y=y, stroke=alt.Stroke("color:N", scale=None)),
        *(_rule_texts(rules, y, side) for side in ("top", "bottom")),
        faint.mark_line(strokeWidth=1, opacity=0.45).encode(tooltip=tooltip),
        own.mark_line(strokeWidth=2).encode(strokeDash=dash).add_params(chosen),
        points.mark_point(filled=True, size=150, opacity=1, stroke="white", strokeWidth=1.2).encode(
            x=x, y=y, color=color, shape=shape, tooltip=[alt.Tooltip("system:N"), *numbers]
        ),
    ]
    spec = charts.finish(alt.layer(*layers).properties(height=320))
    return _params_inside(spec)


def _rule_texts(rules: alt.Chart, y: alt.Y, baseline: str) -> alt.Chart:
    """Labels at the right end of lines: above the line if baseline is "bottom", else below."""
    mark = {"color": GREY, "align": "right", "baseline": baseline, "dx": -4, "fontSize": 11, "limit": 420}
    shown = rules.transform_filter("datum.above" if baseline == "bottom" else "!datum.above")
    return shown.mark_text(**mark).encode(x=alt.XDatum(1), y=y, text="text:N")


def _params_inside(spec: Spec) -> Spec:
    """The specification with its selections in the layer that Altair names for them."""
    params = spec.pop("params", [])
    for param in params:
        views = param.pop("views", [])
        next(layer for layer in spec["layer"] if layer.get("name") in views).setdefault("params", []).append(param)
    return spec
