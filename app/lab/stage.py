"""The stage of the live lab: one sentence, the key numbers, and one view of all estimators, beside a reference.

The reference, drawn in grey, is the state before the last move, or what was pinned.
"""

import threading
from collections.abc import Callable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.fits.tables import LabResult, Tables
from app.kit import numbers
from app.kit.html import render
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.kit.text import plain
from app.lab import details, message, state, views
from app.lab.state import Shown
from l2d_core.evaluation.measures import MEASURES

Rows = Mapping[tuple[str, str], numbers.Row]

# One session draws at a time: Python could not do two at once, and changing between many costs more than waiting.
_TURN = threading.Lock()

HOW_TO_READ = {
    "reliability": "Each point is one bin of cases, of all seeds together: how likely the estimator says the expert is "
    "to be right, against how often the expert is. On the diagonal it is calibrated; above, the expert is better than "
    "it says; below, worse. Lines through the points: 95 % Wilson intervals for one seed's cases. Grey band: where a "
    "calibrated estimator's point would fall at least 95 % of the time. Estimates above 1 count as 1 in the ECE, and "
    "are drawn in the shaded zone.",
    "corp": "The curve is the increasing function of the estimate that is nearest to what came true (isotonic "
    "regression), over the cases of all seeds. Grey band: where the curve of a calibrated estimator lies in 95 % of "
    "samples of one seed's cases. Estimates above 1 count as 1. Bars: cases per bin; solid: expert right. The test "
    "takes cases as independent; its p-values of the seeds are combined by twice their mean, at most 1.",
    "above": "How often an estimate takes which value, before anything is cut off. The solid part of a bar holds the "
    "cases in which the expert is right. Shaded: above 100 %, where no probability lies.",
    "risk": "Risk is 1 - P(the expert is right). Left of 0, shaded: estimates above 1, a negative risk. Grey outline, "
    "where the true probability of each case is known: the true risk.",
    "accuracy": "The machine keeps first the cases in which its own probability exceeds the expert's by most. Large "
    "marks: what the system itself chooses. Optimal deferral knows who is right; random deferral does not look.",
}

# A column of the summary, the looks of what is in it, and its measures with their units.
_ON_CARDS = (
    ("estimator", ESTIMATORS, {"ece": "% ECE", "above_one": "% above 1"}),
    ("surrogate", SYSTEMS, {"system": "% right", "coverage": "% kept"}),
)
_ONLY_IN_HELP = {"estimator": ("ece_by_chance",), "surrogate": ()}
_CARDS = """
<div class="kpis">
{% for card in cards %}
<div class="kpi" style="--look: {{ card.color }}" title="{{ card.help }}">
  <div class="name">{{ card.name }}</div>
  {% for value, unit, delta in card.numbers %}
  <div class="pair"><span class="value">{{ value }}</span><span class="unit">{{ unit }}</span>
  {%- if delta %}<span class="delta">({{ delta }})</span>{% endif %}</div>
  {% endfor %}
</div>
{% endfor %}
</div>"""


@st.fragment
def draw(
    result: LabResult, name: str, before: Shown | None, note: str, fit: Callable[[DeltaGenerator], LabResult]
) -> None:
    """Draw the stage, and the details below it; what is chosen here changes no training, and reruns nothing else.

    name: of the settings, for what is pinned. before: what was shown before the last move. note: on the fit. fit: makes
    the same result with its scores, where other bins are asked for; it shows its progress in the place that it gets.
    """
    with _TURN:
        sentence, cards = st.empty(), st.empty()
        try:
            tables = _tables(result, lambda: fit(sentence))
        except (OSError, ValueError) as problem:
            sentence.error(str(problem))
            return
        reference = state.pinned() or before
        view, is_overlaid = _draw_choice(Shown(name, tables, result.curves), reference, note)
        sentence.html(render('<p class="message">{{ text }}</p>', text=message.sentence(view, tables)))
        cards.html(render(_CARDS, cards=_cards(tables, reference)))
        with st.container(key="stage-charts"):
            views.draw(view, result.curves, tables, reference, is_overlaid)
        details.draw(result, tables)


def _tables(result: LabResult, fit: Callable[[], LabResult]) -> Tables:
    binning, without_bins = state.binning(), state.view() == "corp"
    if binning == result.tables.binning and not without_bins:
        return result.tables
    from app.fits.experiment import tables_of, with_corp

    whole = result if result.truth is not None else fit()
    assert whole.truth is not None
    same = binning == whole.tables.binning
    tables = whole.tables if same else tables_of(whole.scores, whole.truth, binning)
    return with_corp(tables, whole.scores) if without_bins else tables


def _draw_choice(now: Shown, reference: Shown | None, note: str) -> tuple[str, bool]:
    """Draw the choice of a view and its options; returns the view, and whether its charts are one."""
    with st.container(horizontal=True, vertical_alignment="center", key="stage-choice", gap="small"):
        view = st.segmented_control(
            "View",
            list(state.VIEWS),
            required=True,
            format_func=state.VIEWS.get,
            key=state.VIEW,
            persist_state="session",
            label_visibility="collapsed",
        )
        is_overlaid = st.toggle("Overlay", key=state.OVERLAY, persist_state="session", help="All in one chart")
        with st.popover("Bins", icon=":material/bar_chart:"):
            st.slider("Bins", 5, 50, key=state.BINS, persist_state="session")
            st.segmented_control(
                "Kind of bins",
                list(state.STRATEGIES),
                required=True,
                format_func=state.STRATEGIES.get,
                key=state.BIN_KIND,
                persist_state="session",
                help="Equal width: every bin spans the same range of estimates. Equal mass: every bin holds about the "
                "same number of cases.",
            )
        with st.popover("How to read", icon=":material/help:"):
            st.markdown(HOW_TO_READ[view])
        pinned = state.pinned()
        st.button(
            "Unpin" if pinned else "Pin",
            icon=":material/keep_off:" if pinned else ":material/keep:",
            on_click=state.pin,
            args=(None if pinned else now,),
            help="Compare with this state from now on, and not with the one before the last move",
        )
    if reference is None:
        said = "When you move a slider, what was there before stays in grey."
    else:
        said = f"Grey: pinned. {plain(reference.name)}." if pinned else "Grey: before the last move."
    st.caption(f"{said} {note}")
    return view, is_overlaid


def _cards(tables: Tables, reference: Shown | None) -> list[dict]:
    """One card per estimator and one per system, each with two numbers."""
    bins = numbers.bins_in_words(tables.binning.bins, tables.binning.strategy)
    old_bins = None if reference is None else reference.tables.binning
    cards = []
    for by, looks, measures in _ON_CARDS:
        rows = numbers.rows_of(tables.summary, by)
        old = {} if reference is None else numbers.rows_of(reference.tables.summary, by)
        for name in tables.summary[by].unique():
            pairs = [
                _number(rows, {} if one == "ece" and old_bins != tables.binning else old, name, one, unit)
                for one, unit in measures.items()
            ]
            told = [
                f"{MEASURES[one].title}: {numbers.cell(rows[name, one])}" for one in (*measures, *_ONLY_IN_HELP[by])
            ]
            told += [f"ECE over {bins}"] if "ece" in measures else []
            look = looks[name]
            cards.append({"name": look.title, "color": look.color, "numbers": pairs, "help": ". ".join(told)})
    return cards


def _number(rows: Rows, old: Rows, name: str, measure: str, unit: str) -> tuple[str, str, str]:
    """The number in percent, its unit, and how it differs from the reference's."""
    mean = rows[name, measure]["mean"]
    last = old[name, measure]["mean"] if (name, measure) in old else None
    delta = "" if last is None or mean is None else f"{100 * (mean - last):+.1f}"
    if measure == "coverage":  # a system that has learned nothing is easily overlooked
        unit += {0.0: ": always asks", 1.0: ": never asks"}.get(mean, "")
    return ("n/a" if mean is None else f"{100 * mean:.1f}"), unit, "±0" if delta in ("+0.0", "-0.0") else delta
