"""The charts of the lesson: one function per chart, which takes numbers and returns a Vega-Lite specification."""

from functools import cache

import altair as alt
import numpy as np
import pandas as pd

from app.kit.charts import Spec, arrow, finish, tooltips, with_data
from app.kit.looks import ESTIMATORS, GREY, PARTIES

ODDS_END = 2.0


def team(curve: pd.DataFrame, point: tuple[float, float], machine: float) -> Spec:
    """System accuracy against the share deferred. curve: deferred, accuracy; point: both now; machine: accuracy."""
    gain = f"{100 * (point[1] - machine):+.1f} points"
    now = {"deferred": [point[0]], "accuracy": [point[1]], "machine": [machine], "gain": [gain]}
    tables = {"curve": arrow({name: curve[name] for name in ("deferred", "accuracy")}), "point": arrow(now)}
    return with_data(_team_spec(), **tables, rules=arrow({"who": ["machine alone"], "accuracy": [machine]}))


def by_class(table: pd.DataFrame) -> Spec:
    """One bar per class: the share deferred; marks: the machine's accuracy. Columns class, n, share, machine."""
    return with_data(_by_class_spec(), classes=arrow({name: table[name].to_numpy() for name in table.columns}))


def three_shares(names: list[str], shares: list[float]) -> Spec:
    """The softmax's shares for one case as bars, in this order; the last is that of deferring."""
    return with_data(_shares_spec(), shares=arrow({"what": names, "share": shares, "is_defer": ["no", "no", "yes"]}))


def slips(curves: pd.DataFrame, slip: float, odds: float, sigmoid: float) -> Spec:
    """The estimates of odds and one-vs-all against the error of the deferral logit. curves: slip, said, estimator."""
    now = arrow({"slip": [slip, slip], "said": [min(odds, ODDS_END), sigmoid], "estimator": ["odds", "sigmoid"]})
    shown = curves[curves["said"] <= ODDS_END]
    return with_data(_slips_spec(), curves=arrow({name: shown[name].to_numpy() for name in shown.columns}), now=now)


def proxy(curve: pd.DataFrame, now: tuple[float, float]) -> Spec:
    """The proxy's estimate against the truth. curve: true, said; now: the current true and said."""
    point = arrow({"true": [now[0]], "said": [now[1]]})
    return with_data(_proxy_spec(), curve=arrow({name: curve[name] for name in ("true", "said")}), now=point)


def parts(table: pd.DataFrame) -> Spec:
    """The parts of the Brier score as bars. Columns part, value, in the order shown."""
    return with_data(_parts_spec(), parts=arrow({name: table[name].to_numpy() for name in table.columns}))


def risks(table: pd.DataFrame, most: float) -> Spec:
    """Predicted and true risk, one row per estimator: title, estimator, said, true, low, high; a rule at `most`."""
    rows = arrow({name: table[name].to_numpy() for name in table.columns})
    return with_data(_risks_spec(), rows=rows, most=arrow({"most": [most]}))


@cache
def _team_spec() -> Spec:
    look = PARTIES["system"]
    curve, rules, point = (alt.Chart(alt.NamedData(name)) for name in ("curve", "rules", "point"))
    x = alt.X(
        "deferred:Q", scale=alt.Scale(nice=False), axis=alt.Axis(format="%", title="share deferred to the expert")
    )
    y = alt.Y("accuracy:Q", scale=alt.Scale(zero=False, padding=26), axis=alt.Axis(format="%", title="accuracy"))
    numbers = tooltips(("deferred", "deferred", ".0%"), ("accuracy", "accuracy", ".1%"))
    rule_names = rules.mark_text(align="right", baseline="bottom", dx=-4, color=GREY, fontSize=12)
    return finish(
        alt.layer(
            rules.mark_rule(strokeDash=[4, 3], color=GREY).encode(y=y),
            rule_names.encode(x=alt.value("width"), y=y, text="who:N"),
            curve.mark_line(color=look.color, strokeWidth=2.5).encode(x=x, y=y, tooltip=numbers),
            point.mark_rule(color=look.color, strokeWidth=7, opacity=0.35).encode(x=x, y=y, y2="machine:Q"),
            point.mark_point(
                filled=True, size=170, color=look.color, shape=look.shape, opacity=1, stroke="white"
            ).encode(x=x, y=y, tooltip=numbers),
            point.mark_text(dy=-18, align="left", fontSize=16, fontWeight=600, color=GREY).encode(
                x=x, y=y, text="gain:N"
            ),
        ).properties(height=330)
    )


@cache
def _by_class_spec() -> Spec:
    look, machine = PARTIES["expert"], PARTIES["machine"]
    rows = alt.Chart(alt.NamedData("classes"))
    y = alt.Y("class:N", sort=None, axis=alt.Axis(title=None, labelLimit=160))
    x = alt.X(
        "share:Q", scale=alt.Scale(domain=[0, 1.03], nice=False), axis=alt.Axis(format="%", title="share of the class")
    )
    numbers = [
        alt.Tooltip("class:N"),
        *tooltips(("share", "deferred", ".1%"), ("machine", "machine alone", ".1%"), ("n", "cases", ",d")),
    ]
    return finish(
        alt.layer(
            rows.mark_bar(color=look.color, opacity=0.8).encode(y=y, x=x, tooltip=numbers),
            rows.mark_point(filled=True, size=80, opacity=1, color=machine.color, shape=machine.shape).encode(
                y=y, x="machine:Q", tooltip=numbers
            ),
        ).properties(height=330)
    )


@cache
def _shares_spec() -> Spec:
    rows = alt.Chart(alt.NamedData("shares"))
    y = alt.Y("what:N", sort=None, axis=alt.Axis(title=None))
    x = alt.X(
        "share:Q", scale=alt.Scale(domain=[0, 1.03], nice=False), axis=alt.Axis(format="%", title="softmax probability")
    )
    colors = alt.Scale(domain=["no", "yes"], range=[PARTIES["machine"].color, PARTIES["expert"].color])
    color = alt.Color("is_defer:N", scale=colors, legend=None)
    numbers = tooltips(("share", "probability", ".1%"))
    return finish(
        alt.layer(
            rows.mark_bar().encode(y=y, x=x, color=color, tooltip=numbers),
            rows.mark_text(align="left", dx=5, color=GREY, fontSize=12).encode(
                y=y, x=x, text=alt.Text("share:Q", format=".1%")
            ),
        ).properties(height=150)
    )


@cache
def _slips_spec() -> Spec:
    zone = pd.DataFrame({"y": [1.0], "y2": [ODDS_END]})
    curves, now = alt.Chart(alt.NamedData("curves")), alt.Chart(alt.NamedData("now"))
    shown = [ESTIMATORS[name] for name in ("odds", "sigmoid")]
    scale = {"domain": ["odds", "sigmoid"]}
    legend = alt.Legend(
        title=None,
        orient="bottom",
        symbolStrokeWidth=0,
        labelExpr="datum.label == 'odds' ? 'softmax odds' : 'one-vs-all'",
    )
    color = alt.Color("estimator:N", scale=alt.Scale(**scale, range=[one.color for one in shown]), legend=legend)
    dash = alt.StrokeDash(
        "estimator:N", scale=alt.Scale(**scale, range=[list(one.dash) for one in shown]), legend=legend
    )
    shape = alt.Shape("estimator:N", scale=alt.Scale(**scale, range=[one.shape for one in shown]), legend=legend)
    x = alt.X("slip:Q", axis=alt.Axis(title="error of the deferral score"))
    y = alt.Y(
        "said:Q",
        scale=alt.Scale(domain=[0, ODDS_END]),
        axis=alt.Axis(format="%", title="estimate of P(the expert is right)"),
    )
    numbers = tooltips(("slip", "error of the score", "+.2f"), ("said", "estimate", ".1%"))
    return finish(
        alt.layer(
            alt.Chart(zone).mark_rect(color=GREY, opacity=0.16).encode(y="y:Q", y2="y2:Q"),
            alt.Chart(zone)
            .mark_text(color=GREY, fontSize=12, align="left", baseline="top", dx=6, dy=6, text="not a probability")
            .encode(x=alt.XDatum(-1), y="y2:Q"),
            curves.mark_line(strokeWidth=2).encode(x=x, y=y, color=color, strokeDash=dash, tooltip=numbers),
            now.mark_point(filled=True, size=150, opacity=1, stroke="white").encode(
                x=x, y=y, color=color, shape=shape, tooltip=numbers
            ),
        ).properties(height=300)
    )


@cache
def _proxy_spec() -> Spec:
    look = ESTIMATORS["proxy"]
    line = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
    half = alt.Chart(pd.DataFrame({"y": [0.5]}))
    curve, now = alt.Chart(alt.NamedData("curve")), alt.Chart(alt.NamedData("now"))
    x = alt.X("true:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", title="true P(the expert is right)"))
    y = alt.Y("said:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", title="the proxy's estimate"))
    numbers = tooltips(("true", "true", ".0%"), ("said", "proxy", ".1%"))
    return finish(
        alt.layer(
            line.mark_line(color=GREY).encode(x="x:Q", y="y:Q"),
            half.mark_rule(color=GREY, strokeDash=[3, 3]).encode(y="y:Q"),
            curve.mark_line(color=look.color, strokeDash=list(look.dash), strokeWidth=2.5).encode(x=x, y=y),
            now.mark_point(filled=True, size=170, color=look.color, shape=look.shape, opacity=1, stroke="white").encode(
                x=x, y=y, tooltip=numbers
            ),
        ).properties(height=330)
    )


@cache
def _parts_spec() -> Spec:
    rows = alt.Chart(alt.NamedData("parts"))
    y = alt.Y("part:N", sort=None, axis=alt.Axis(title=None, labelLimit=240))
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, 0.26]), axis=alt.Axis(title="part of the Brier score", tickCount=6))
    return finish(
        alt.layer(
            rows.mark_bar(color=ESTIMATORS["sigmoid"].color, opacity=0.85).encode(
                y=y, x=x, tooltip=[alt.Tooltip("part:N"), *tooltips(("value", "value", ".4f"))]
            ),
            rows.mark_text(align="left", dx=5, color=GREY, fontSize=12).encode(
                y=y, x=x, text=alt.Text("value:Q", format=".4f")
            ),
        ).properties(height=170)
    )


@cache
def _risks_spec() -> Spec:
    rows, most = alt.Chart(alt.NamedData("rows")), alt.Chart(alt.NamedData("most"))
    names = ["odds", "sigmoid"]
    color = alt.Color(
        "estimator:N",
        scale=alt.Scale(domain=names, range=[ESTIMATORS[name].color for name in names]),
        legend=None,
    )
    y = alt.Y("title:N", sort=None, axis=alt.Axis(title=None, labelLimit=160))
    axis = alt.Axis(format="%", tickCount=6, title="share of the passed lesions in which the dermatologist is wrong")
    x = alt.X("true:Q", scale=alt.Scale(domain=[0, 0.35]), axis=axis)
    numbers = [
        alt.Tooltip("title:N"),
        *tooltips(
            ("said", "predicted risk, mean", ".1%"),
            ("true", "observed risk", ".1%"),
            ("low", "95 % interval from", ".1%"),
            ("high", "to", ".1%"),
        ),
    ]
    return finish(
        alt.layer(
            rows.mark_bar(opacity=0.8, size=34).encode(y=y, x=x, color=color, tooltip=numbers),
            rows.mark_rule(strokeWidth=2, color=GREY).encode(y=y, x="low:Q", x2="high:Q"),
            rows.mark_tick(thickness=3, size=44, color=GREY).encode(y=y, x="said:Q", tooltip=numbers),
            most.mark_rule(strokeDash=[4, 3], color=GREY).encode(x="most:Q"),
        ).properties(height=190)
    )


def slip_curves(odds: np.ndarray, sigmoid: np.ndarray, slip: np.ndarray) -> pd.DataFrame:
    """The table that `slips` draws: two curves over the same slips."""
    both = [
        pd.DataFrame({"slip": slip, "said": said, "estimator": name})
        for name, said in (("odds", odds), ("sigmoid", sigmoid))
    ]
    return pd.concat(both, ignore_index=True)
