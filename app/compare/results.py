"""Systems side by side: key numbers, differences, reliability, risk, curves, classes, and the cases behind them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.compare import controls, groups_panel, report, selection, state
from app.compare import numbers as compare_numbers
from app.compare import words as compare_words
from app.compare.board import Comparison
from app.compare.evaluation import Evaluation
from app.kit import section
from app.kit.html import render
from app.kit.text import plain, plain_table
from l2d_core.evaluation.measures import MEASURES

MANY_CLASSES = 30
NO_LABELS = (
    "Logged outputs come without labels, so it is not known whether the machine is right: accuracy curves and tables "
    "by class cannot be shown."
)


@st.fragment
def draw(comparison: Comparison, chosen: Sequence[str]) -> None:
    """The whole comparison, as a fragment of its own. chosen: the keys of the systems."""
    cost, budget = controls.draw_point()
    settings = controls.draw_view(comparison)
    try:
        _draw(Evaluation(comparison, settings, cost, budget, chosen.index(state.base(chosen))), chosen)
    except ValueError as problem:
        st.error(plain(str(problem)), icon=":material/error:")


def _draw(evaluation: Evaluation, chosen: Sequence[str]) -> None:
    comparison = evaluation.comparison
    evaluation, rows = _with_marks(evaluation)
    below_cards = _draw_numbers(evaluation)
    places = {}  # of the chosen cases: below the chart in which they were chosen
    _draw_reliability(evaluation)
    places["reliability"] = st.container()
    _draw_systems(evaluation, "risk", *_RISK)
    if comparison.has_labels:
        _draw_curves(evaluation)
        places["curves"] = st.container()
        _draw_classes(evaluation)
        groups_panel.draw(evaluation)
    else:
        st.info(NO_LABELS, icon=":material/info:")
    place = evaluation.chosen.place
    with places.get(selection.origin()) or st.container():
        selection.draw(comparison, evaluation.names, evaluation.views[place], evaluation.deferred[place], rows)
    report.draw_downloads(evaluation, rows, place)
    with below_cards:
        _draw_differences(evaluation, chosen)  # last: the intervals take as long as all charts together


def _with_marks(evaluation: Evaluation) -> tuple[Evaluation, np.ndarray]:
    """The evaluation with the visitor's marked cases, and the rows of all chosen cases."""
    chosen = selection.current(evaluation.comparison)
    view, deferred = evaluation.views[chosen.place], evaluation.deferred[chosen.place]
    rows = chosen.rows(view, deferred) if chosen.is_active else np.empty(0, dtype=np.int64)
    return replace(evaluation, chosen=chosen, marked=selection.marked(chosen, rows)), rows


def _draw_numbers(evaluation: Evaluation) -> DeltaGenerator:
    """Draw the cards; returns the container below them."""
    compare_numbers.draw_cards(evaluation.looks, evaluation.numbers, evaluation.before, evaluation.bins)
    if evaluation.settings.recalibration != "none":
        text = compare_numbers.correction_words(evaluation.looks, evaluation.corrections)
        st.html(render("<small>{{ text }}</small>", text=text))
    for line in evaluation.harms:
        st.warning(plain(line), icon=":material/trending_down:")
    return st.container()


def _draw_differences(evaluation: Evaluation, chosen: Sequence[str]) -> None:
    if len(evaluation.views) < 2:
        st.caption("Choose a second system above to see how the two differ.")
        return
    controls.draw_base(chosen, evaluation.names)
    st.markdown("\n".join(f"- {plain(line)}" for line in evaluation.differences))
    st.caption(compare_numbers.WHAT_INTERVALS_ARE_OF)


_RELIABILITY = "When the estimate is 70 %, is the expert right in 70 %?"
_EXPLAINED = {
    "binned": "One point per bin, with its 95 % Wilson interval. The points of a calibrated system fall into the grey "
    "band at least 95 % of the time. Estimates above 1 count as 1 in the last bin, and are also shown separately, in "
    "the shaded zone. Click on a bin to list its cases.",
    "corp": "The increasing function of the estimate that is nearest to what came true (isotonic regression, CORP). At "
    "each estimate, the curve of a calibrated system lies in the grey band in 95 % of samples. Bars: cases per bin; "
    "solid: expert right. Estimates above 1 count as 1.",
}
_LESIONS = " Kuiper's test takes cases as independent; several images of one lesion are not, so that p is too small."


def _draw_reliability(evaluation: Evaluation) -> None:
    kind, numbers = evaluation.settings.diagram, evaluation.numbers
    note = _LESIONS if evaluation.comparison.is_medical else ""
    _draw_systems(evaluation, "reliability", _RELIABILITY, _EXPLAINED[kind] + note)
    with st.expander("All measures of calibration", icon=":material/table_rows:"):
        st.table(plain_table(compare_numbers.calibration_table(evaluation.names, numbers)))
        used = [MEASURES[name] for name in compare_numbers.OF_CALIBRATION]
        st.markdown("\n".join(f"- **{one.title}**: {one.help}" for one in used))


_RISK = (
    "How large is the predicted risk of deferring?",
    "The risk is 1 - P(the expert is right), as predicted. In full colour: the cases that are deferred at this cost "
    "and budget. Shaded, left of 0: negative risks, from estimates above 1.",
)


def _draw_systems(evaluation: Evaluation, name: str, question: str, explanation: str) -> None:
    """One column per system with its chart or, instead, its numbers. name: "reliability" or "risk"."""
    in_bins = evaluation.settings.diagram == "binned"
    reliability = (
        (evaluation.reliability, compare_words.reliability) if in_bins else (evaluation.corp, compare_words.corp)
    )
    tables, chart, words = {
        "reliability": (reliability[0], evaluation.reliability_chart, reliability[1]),
        "risk": (evaluation.risk, evaluation.risk_chart, compare_words.risk),
    }[name]
    numbers_shown = section.header(question, explanation, name, tables)
    with st.container(key=f"charts-compare-{name}"):
        for place, column in enumerate(st.columns(len(tables))):
            system = evaluation.names[place]
            with column:
                st.html(compare_numbers.name_of(evaluation.looks[place]))
                if numbers_shown:
                    section.table(tables[system])
                    continue
                key, click = f"compare-{name}-{place}", None
                if name == "reliability" and in_bins:
                    click = partial(selection.take_bin, key, system, float(tables[system]["low"].iloc[0]))
                    key = state.renewable_key(key)
                title = f"{name} of system {place + 1}".capitalize()
                section.chart(chart(place), key, title, words(evaluation, place), click)
                if name == "reliability":
                    st.caption(compare_numbers.is_calibrated_words(evaluation.numbers[place]))


def _draw_curves(evaluation: Evaluation) -> None:
    named = {f"{name}, by coverage": part for name, part in evaluation.coverage.items()}
    named |= {f"{name}, by budget": part for name, part in evaluation.budgets.items()}
    numbers_shown = section.header(
        "What does asking the expert gain?",
        "Left: accuracy against coverage, where the cases with the largest expected gain are deferred first. Right: "
        "accuracy less the cost of asking, against the budget. Large marks: each system at this cost and budget. Faint "
        "lines: two references, optimal deferral (which knows who is right) and random deferral. Drag across the left "
        "chart to list the cases of that part.",
        "curves",
        named,
    )
    with st.container(key="wide-charts-compare-curves"):
        if numbers_shown:
            for column, (name, part) in zip(st.columns(len(named)), named.items(), strict=True):
                with column:
                    st.markdown(f"**{plain(name)}**")
                    section.table(part)
            return
        left, right = st.columns(2)
        with left:
            key = state.renewable_key(selection.COVERAGE_CHART)
            drag = partial(selection.take_range, selection.COVERAGE_CHART)
            section.chart(
                evaluation.coverage_chart(),
                key,
                "System accuracy against coverage",
                compare_words.coverage(evaluation),
                drag,
            )
        with right:
            section.chart(
                evaluation.budget_chart(), "compare-budget", "Value against budget", compare_words.budget(evaluation)
            )


def _draw_classes(evaluation: Evaluation) -> None:
    st.header("How accurate are machine and expert on each class?", anchor=False)
    experts = "" if len(evaluation.experts) == 1 else " The systems ask different experts: each has its own column."
    st.caption(
        "In percent of the n test cases of each true class. The last two rows are for all cases, and the mean over the "
        "classes that have test cases (balanced accuracy). The second table counts the cases in which machine and "
        f"expert are right, and how many of them are deferred at this cost and budget.{experts}"
    )
    table = compare_numbers.class_table(evaluation.classes, evaluation.experts)
    if len(table) > MANY_CLASSES:
        st.dataframe(table, hide_index=True, alt="Accuracy by class", placeholder=compare_numbers.NO_CASES)
    else:  # without the code of the large tables, which takes longer to load than all else
        st.table(plain_table(compare_numbers.as_text(table.set_index("class"))))
    st.table(plain_table(compare_numbers.confusion_table(evaluation.confusion)))
