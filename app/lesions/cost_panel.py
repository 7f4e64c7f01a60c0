"""What a miss costs: the weight of rare classes, and its effect on the test cases as it moves."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from app.kit import charts, csv_files, section
from app.kit.html import render
from app.kit.looks import GREY, PARTIES, SYSTEMS
from app.lesions import state
from app.lesions.judged import Deciding
from l2d_core.data import Scores
from l2d_core.evaluation.adjustment import choose_taus, tau_curve

TAUS = np.round(np.arange(0, 1.51, 0.05), 2)
MELANOMA = "mel"
MARKS = {"accurate": "most accurate", "cheap": "2 points of accuracy", "balanced": "most balanced"}
# Column of the curve -> title, dash and colour of its line.
LINES = {
    "machine": ("machine: accuracy", [1, 0], PARTIES["machine"].color),
    "balanced": ("machine: mean over the classes", [6, 3], PARTIES["machine"].color),
    "recall": ("machine: melanomas found", [2, 2], PARTIES["machine"].color),
    "system": ("system: accuracy", [1, 0], PARTIES["system"].color),
    "balanced_system": ("system: mean over the classes", [6, 3], PARTIES["system"].color),
    "system_recall": ("system: melanomas found", [2, 2], PARTIES["system"].color),
    "deferred": ("deferred", [1, 0], PARTIES["expert"].color),
}
_CARDS = """
<div class="kpis">
{% for one in cards %}
<div class="kpi" style="--look: {{ one.color }}"><div class="name">{{ one.name }}</div>
<div class="value">{{ one.value }} <small>{{ one.change }}</small></div><div class="note">{{ one.note }}</div></div>
{% endfor %}
</div>
"""


def draw_slider() -> float:
    """Draw the slider of tau; returns it."""
    return st.slider(
        "Weight of rare classes (tau)",
        0.0,
        float(TAUS[-1]),
        0.0,
        0.05,
        key=state.TAU,
        bind="query-params",
        persist_state="session",
        help="The machine names the class of the largest log probability less tau times its log share of the training "
        "images. At 0 it is as trained, and most accurate on the validation images; at 1 every class counts the same. "
        "It changes verdicts and risks of the uploads too.",
    )


def draw(by: Deciding) -> None:
    """Draw the effect on the test cases of the system that decides, and the marks chosen on validation cases."""
    leader = by.rule.leader
    melanoma = by.system.class_names.index(MELANOMA)
    curve = _curve(by.systems.reference.scores[leader], by.system.prior, melanoma)
    marks = choose_taus(_curve(by.system.validations[leader], by.system.prior, melanoma))
    now = curve.iloc[(curve["tau"] - by.tau).abs().idxmin()]
    n, positives = len(by.systems.reference.scores[leader]), _count(by, leader, melanoma)
    st.html(_cards(curve.iloc[0], now, n, positives))
    text = "; ".join(f"{MARKS[name]} on validation cases at {tau:g}" for name, tau in marks.items())
    section.chart(_spec(curve, marks, by.tau), "lesion-cost", "Effect of the weight of rare classes", text)
    st.caption(
        f"{SYSTEMS[leader].title} on {n:,} test cases, {positives} of them melanomas; without a budget. Vertical "
        f"lines: {text}; solid: the weight that is set. A class that is named against the scores is less probable, so "
        "that the expert is asked sooner. The paper's dermatologist finds 21 % of the melanomas: where it is asked, "
        "the system misses with it."
    )
    csv_files.download_button("Curve (CSV)", curve, "cost_of_a_miss.csv")


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Scores: lambda one: one.logits.tobytes()})
def _curve(scores: Scores, prior: np.ndarray, recall_of: int) -> pd.DataFrame:
    return tau_curve(scores, prior, TAUS, recall_of)


def _count(by: Deciding, leader: str, melanoma: int) -> int:
    return int((by.systems.reference.scores[leader].labels == melanoma).sum())


def _cards(start: pd.Series, now: pd.Series, n: int, positives: int) -> str:
    shown = (
        ("machine", "Machine: accuracy", f"n = {n:,}"),
        ("balanced", "Machine: mean over classes", "each counts the same"),
        ("recall", "Machine: melanomas found", f"of {positives}"),
        ("system_recall", "System: melanomas found", f"of {positives}"),
        ("deferred", "Deferred", f"of {n:,}"),
    )
    cards = [
        {
            "name": title,
            "value": f"{100 * now[name]:.1f} %",
            "change": f"{100 * (now[name] - start[name]):+.1f}" if now["tau"] > 0 else "",
            "note": note,
            "color": LINES[name][2],
        }
        for name, title, note in shown
    ]
    return render(_CARDS, cards=cards)


def _spec(curve: pd.DataFrame, marks: dict[str, float], tau: float) -> charts.Spec:
    long = curve.melt("tau", list(LINES), "name", "share")
    titles = [title for title, _, _ in LINES.values()]
    long["line"] = long["name"].map({name: title for name, (title, _, _) in LINES.items()})
    legend = alt.Legend(title=None, orient="right", labelLimit=260)
    x = alt.X("tau:Q", axis=alt.Axis(title="weight of rare classes (tau)"))
    lines = (
        alt.Chart(long)
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", title="share of test cases")),
            color=alt.Color(
                "line:N", scale=alt.Scale(domain=titles, range=[one[2] for one in LINES.values()]), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "line:N", scale=alt.Scale(domain=titles, range=[one[1] for one in LINES.values()])
            ),
            tooltip=[alt.Tooltip("line:N"), *charts.tooltips(("tau", "tau", ".2f"), ("share", "share", ".1%"))],
        )
    )
    places = pd.DataFrame({"tau": list(marks.values()), "text": [MARKS[name] for name in marks]})
    rules = alt.Chart(places).mark_rule(color=GREY, strokeDash=[2, 3]).encode(x=x)
    words = (
        alt.Chart(places)
        .mark_text(color=GREY, align="left", dx=3, dy=4, baseline="top", fontSize=11)
        .encode(x=x, y=alt.YDatum(1), text="text:N")
    )
    here = alt.Chart(pd.DataFrame({"tau": [tau]})).mark_rule(color=GREY, strokeWidth=2).encode(x=x)
    return charts.finish(alt.layer(rules, words, here, lines).properties(height=300))
