"""The reliability diagram without bins: a table in, a Vega-Lite specification out, built once and then filled."""

from functools import lru_cache

import altair as alt
import pandas as pd

from app.kit import charts
from app.kit.looks import GREY, Look

_CURVE = (
    ("estimate", "estimate", ".1%"),
    ("share_correct", "expert right", ".1%"),
    ("band_low", "band from", ".1%"),
    ("band_high", "band to", ".1%"),
    ("cases", "cases in this step, per seed", ",.1f"),
)


def corp(
    curve: pd.DataFrame, bins: pd.DataFrame, look: Look, *, before: pd.DataFrame | None = None, side: int | None = None
) -> charts.Spec:
    """Share right against estimate, over bars of counts.

    curve: of `estimator_view.corp`; before: another such table, in grey. bins: of `estimator_view.reliability`, for the
    counts. side: the pixels from 0 to 1 on both axes; None: as wide as there is room.
    """
    scale = charts.COUNTS_HEIGHT / max(bins["cases"].max(), 1)
    tops = {name: charts.COUNTS_FLOOR + scale * bins[name] for name in ("cases", "cases_right")}
    shown = curve[:0] if before is None else before
    tables = {
        "curve": {name: curve[name] for name in curve},
        "before": {name: shown[name] for name in ("estimate", "share_correct")},
        "bins": {"low": bins["low"], "high": bins["high"], "count": bins["cases"], **tops},
    }
    spec = _spec(look, side)
    return charts.with_data(spec, **{name: charts.arrow(table) for name, table in tables.items()})


@lru_cache(maxsize=64)  # a visitor's system may have any title
def _spec(look: Look, side: int | None) -> charts.Spec:
    curve, before, bins = (alt.Chart(alt.NamedData(name)) for name in ("curve", "before", "bins"))
    diagonal = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
    x_axis = alt.Axis(values=charts.TICKS, format="%", title="estimate of P(the expert is right)")
    y_axis = alt.Axis(values=charts.TICKS, format="%", title="share right")
    x = alt.X("estimate:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=x_axis)
    y = alt.Y("share_correct:Q", scale=alt.Scale(domain=[charts.COUNTS_FLOOR, 1], nice=False), axis=y_axis)
    tooltip = charts.tooltips(*_CURVE)
    bar = {"x": "low:Q", "x2": "high:Q", "y2": alt.Y2Datum(charts.COUNTS_FLOOR)}
    counted = charts.tooltips(("low", "from", ".1%"), ("high", "to", ".1%"), ("count", "cases per seed", ",.1f"))
    layers = [
        curve.mark_area(color=GREY, opacity=0.28).encode(x=x, y="band_low:Q", y2="band_high:Q"),
        diagonal.mark_line(color=GREY, strokeWidth=1.2).encode(x="x:Q", y="y:Q"),
        before.mark_line(color=GREY, strokeWidth=2.5, opacity=0.75).encode(x=x, y=y),
        curve.mark_line(color=look.color, strokeWidth=2.5).encode(x=x, y=y),
        curve.mark_point(size=60, opacity=0, filled=True).encode(x=x, y=y, tooltip=tooltip),
        bins.mark_rect(color=look.color, opacity=0.3).encode(**bar, y="cases:Q", tooltip=counted),
        bins.mark_rect(color=look.color, opacity=0.9).encode(**bar, y="cases_right:Q", tooltip=counted),
    ]
    chart = alt.layer(*layers)
    if side is None:
        return charts.finish(chart.properties(height=320))
    return charts.finish(charts.sized(chart, side, side * (1 - charts.COUNTS_FLOOR)))
