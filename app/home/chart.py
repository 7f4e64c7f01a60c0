"""The chart of Home, written out as Vega-Lite, because importing Altair and pandas takes longer than drawing Home."""

from collections.abc import Mapping
from typing import Any

from app.home.table import Numbers
from app.kit.looks import ESTIMATORS, GREY

ABOVE_ONE, AXIS_END = 1.1, 1.2  # where estimates above 1 are drawn, and the end of their zone
TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]
HEIGHT = 480
FEW = 0.01  # of the cases: the line passes over bins with fewer, which are mostly chance
# Every mark lies on the same two axes, both in 0..1.
X = {
    "field": "says",
    "type": "quantitative",
    "scale": {"domain": [0, AXIS_END], "nice": False},
    "axis": {"values": TICKS, "format": ".0%", "title": "estimated probability that the expert is right"},
}
Y = {
    "field": "right",
    "type": "quantitative",
    "scale": {"domain": [0, 1]},
    "axis": {"values": TICKS, "format": ".0%", "title": "share of cases in which the expert is right"},
}
Spec = dict[str, Any]


def reliability(numbers: Mapping[str, Numbers], num_cases: int) -> Spec:
    """How often the expert is right against each estimate, bin by bin; estimates above 1 in a marked zone."""
    points = [
        {"estimator": ESTIMATORS[name].title, "says": says, "right": right, "cases": cases}
        for name, one in numbers.items()
        for says, right, cases in one.bins
    ]
    above = [
        {"estimator": ESTIMATORS[name].title, "says": ABOVE_ONE, "right": one.right_above_one, "share": one.above_one}
        for name, one in numbers.items()
        if one.right_above_one is not None
    ]
    looks = _looks(list(numbers))
    shown = {"x": X, "y": Y, **looks}
    size = {
        "field": "cases",
        "type": "quantitative",
        "scale": {"domain": [0, 3000], "range": [30, 420]},
        "legend": None,
    }
    enough = [one for one in points if one["cases"] >= FEW * num_cases]
    line = _layer(enough, {"type": "line", "strokeWidth": 2}, {"x": X, "y": Y, **_lines(looks)})
    bins = _layer(points, _point(), {**shown, "size": size, "tooltip": [*_tooltips(), _number("cases", ",.0f")]})
    over = _layer(above, {**_point(), "size": 420}, {**shown, "tooltip": [_name(), _right(), _share()]})
    text = {"text": {"field": "share", "format": ".1%"}, "x": X, "y": Y}
    label = _layer(above, {"type": "text", "dy": -18, "fontSize": 13, "fontWeight": 600, "color": GREY}, text)
    return {
        "layer": [*_ground(), line, bins, over, label],
        "height": HEIGHT,
        "config": {"mark": {"aria": False, "tooltip": None}},  # a screen reader gets the sentence beside it
    }


def _ground() -> list[Spec]:
    """The zone above 1, the diagonal, and what it means to lie above or below it."""
    zone = _layer([{"says": 1, "end": AXIS_END}], {"type": "rect", "color": GREY, "opacity": 0.16}, {"x": X})
    zone["encoding"]["x2"] = {"field": "end"}
    ends = [{"says": 0, "right": 0}, {"says": 1, "right": 1}]
    diagonal = _layer(ends, {"type": "line", "color": GREY, "strokeWidth": 1.4}, {"x": X, "y": Y})
    texts = [
        {"says": 0.03, "right": 0.93, "text": "the estimate is too low"},
        {"says": 0.6, "right": 0.07, "text": "the estimate is too high"},
    ]
    words = {"type": "text", "align": "left", "fontSize": 13, "color": GREY}
    said = _layer(texts, words, {"x": X, "y": Y, "text": {"field": "text"}})
    above = _layer([{"says": ABOVE_ONE, "right": 0.97}], {**words, "align": "center"}, {"x": X, "y": Y})
    above["encoding"]["text"] = {"value": "above 100 %"}
    return [zone, diagonal, said, above]


def _looks(names: list[str]) -> dict[str, Spec]:
    """Colour and marker by estimator, with one legend."""
    looks = [ESTIMATORS[name] for name in names]
    # Without a stroke: a line's dashes would break up the edge of its marker.
    legend = {"title": None, "orient": "bottom", "symbolSize": 140, "symbolStrokeWidth": 0, "labelFontSize": 14}
    ranges = {"color": [look.color for look in looks], "shape": [look.shape for look in looks]}
    domain = [look.title for look in looks]
    return {
        channel: {"field": "estimator", "scale": {"domain": domain, "range": values}, "legend": legend}
        for channel, values in ranges.items()
    }


def _lines(looks: Mapping[str, Spec]) -> dict[str, Spec]:
    dashes = [list(look.dash) for look in ESTIMATORS.values() if look.title in looks["color"]["scale"]["domain"]]
    scale = {**looks["color"]["scale"], "range": dashes}
    return {"color": looks["color"], "strokeDash": {"field": "estimator", "scale": scale, "legend": None}}


def _layer(rows: list[Spec], mark: Spec, encoding: Mapping[str, Spec]) -> Spec:
    return {"data": {"values": rows}, "mark": mark, "encoding": dict(encoding)}


def _point() -> Spec:
    return {"type": "point", "filled": True, "opacity": 1}


def _tooltips() -> list[Spec]:
    return [_name(), {"field": "says", "type": "quantitative", "format": ".1%", "title": "estimate, mean"}, _right()]


def _name() -> Spec:
    return {"field": "estimator"}


def _right() -> Spec:
    return {"field": "right", "type": "quantitative", "format": ".1%", "title": "expert right"}


def _share() -> Spec:
    return {"field": "share", "type": "quantitative", "format": ".1%", "title": "estimates above 100 %"}


def _number(name: str, form: str) -> Spec:
    return {"field": name, "type": "quantitative", "format": form, "title": "cases per training"}
