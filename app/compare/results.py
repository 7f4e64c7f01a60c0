"""Systems side by side: key numbers, differences, reliability, risk, curves, classes, and the cases behind them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.compare import controls, report, selection, state
from app.compare import numbers as compare_numbers
from app.compare import words as compare_words
from app.compare.board import Comparison
from app.compare.scene import Scene
from app.kit import charts, section
from app.kit.text import plain, plain_table
from l2d_core.evaluation.measures import MEASURES

MANY_CLASSES = 30
NO_LABELS = (
    "Logged outputs come without labels: whether the machine is right is not known, so that curves of accuracy, "
    "classes, and the confusion of machine and expert cannot be drawn."
)


@st.fragment
def draw(comparison: Comparison, chosen: Sequence[str]) -> None:
    """The whole comparison, as a fragment of its own. chosen: the keys of the systems."""
    cost, budget = controls.draw_point()
    view = controls.draw_view(comparison)
    try:
        _draw(Scene(comparison, view, cost, budget, chosen.index(state.base(chosen))), chosen)
    except ValueError as problem:
        st.error(plain(str(problem)), icon=":material/error:")


def _draw(scene: Scene, chosen: Sequence[str]) -> None:
    comparison = scene.comparison
    scene, rows = _with_marks(scene)
    below_cards = _draw_numbers(scene)
    _draw_reliability(scene)
    _draw_risk(scene)
    if comparison.has_labels:
        _draw_curves(scene)
        _draw_classes(scene)
    else:
        st.info(NO_LABELS, icon=":material/info:")
    place = selection.current(comparison).place
    selection.draw(comparison, scene.names, scene.seen[place], scene.deferred[place], rows)
    report.draw_downloads(scene, rows, place)
    with below_cards:
        _draw_differences(scene, chosen)  # last: the intervals take as long as all charts together


def _with_marks(scene: Scene) -> tuple[Scene, np.ndarray]:
    """The scene with the visitor's marked cases, and the rows of all chosen cases."""
    chosen = selection.current(scene.comparison)
    seen, deferred = scene.seen[chosen.place], scene.deferred[chosen.place]
    rows = chosen.rows(seen, deferred) if chosen.is_active else np.empty(0, dtype=np.int64)
    return replace(scene, chosen=chosen, marked=selection.marked(chosen, rows)), rows


def _draw_numbers(scene: Scene) -> DeltaGenerator:
    """Draw the cards; returns the container below them."""
    compare_numbers.draw_cards(scene.looks, scene.numbers, scene.before, scene.bins)
    if scene.view.recalibration != "none":
        st.html(f"<small>{compare_numbers.correction_words(scene.looks, scene.corrections)}</small>")
    for line in scene.harms:
        st.warning(plain(line), icon=":material/trending_down:")
    return st.container()


def _draw_differences(scene: Scene, chosen: Sequence[str]) -> None:
    if len(scene.seen) < 2:
        st.caption("Choose a second system above to see two side by side, and how they differ.")
        return
    controls.draw_base(chosen, scene.names)
    st.markdown("\n".join(f"- {plain(line)}" for line in scene.differences))
    st.caption(compare_numbers.WHAT_INTERVALS_ARE_OF)


def _draw_reliability(scene: Scene) -> None:
    numbers_shown = section.header(
        "When it says 70 %, is the expert right in 70 %?",
        "A mark a bin, with its 95 % Wilson interval; a calibrated system's mark falls into the grey band at least "
        "95 % of the time. Estimates above 1 count in the last bin, as 1, and are shown apart in the shaded zone. "
        f"Click a bin to see its cases. ECE: the {MEASURES['ece'].help}; here over {scene.bins}.",
        "reliability",
        scene.reliability,
    )
    _draw_systems(
        scene, "reliability", numbers_shown, scene.reliability, scene.reliability_chart, compare_words.reliability
    )


def _draw_risk(scene: Scene) -> None:
    numbers_shown = section.header(
        "How much risk does it see in asking the expert?",
        "Risk is 1 - P(the expert is right), as predicted. Full colour: the cases that are asked at this price and "
        "budget. Left of 0, shaded: estimates above 1, a negative risk.",
        "risk",
        scene.risk,
    )
    _draw_systems(scene, "risk", numbers_shown, scene.risk, scene.risk_chart, compare_words.risk)


def _draw_systems(
    scene: Scene,
    name: str,
    numbers_shown: bool,
    tables: dict[str, pd.DataFrame],
    chart: Callable[[int], charts.Spec],
    words: Callable[[Scene, int], str],
) -> None:
    """One column per system, with its chart or, instead, its numbers."""
    with st.container(key=f"charts-compare-{name}"):
        for place, column in enumerate(st.columns(len(tables))):
            key = f"compare-{name}-{place}"
            with column:
                st.html(compare_numbers.name_of(scene.looks[place]))
                if numbers_shown:
                    section.table(tables[scene.names[place]])
                    continue
                click = None
                if name == "reliability":
                    lowest = float(tables[scene.names[place]]["low"].iloc[0])
                    click, key = (
                        partial(selection.take_bin, key, scene.names[place], lowest),
                        state.renewable_key(key),
                    )
                section.chart(
                    chart(place), key, f"{name} of system {place + 1}".capitalize(), words(scene, place), click
                )


def _draw_curves(scene: Scene) -> None:
    named = {f"{name}, by coverage": part for name, part in scene.coverage.items()}
    named |= {f"{name}, by budget": part for name, part in scene.budgets.items()}
    numbers_shown = section.header(
        "What does asking buy?",
        "Left: the cases that gain most are asked first. Right: what is right less the price of asking, by budget. "
        "Large marks: each system at this price and budget. Faint lines: optimal deferral, which knows who is right, "
        "and deferral by lots. Drag over the left chart to see the cases of a part of it.",
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
                scene.coverage_chart(), key, "System accuracy against coverage", compare_words.coverage(scene), drag
            )
        with right:
            section.chart(scene.budget_chart(), "compare-budget", "Value against budget", compare_words.budget(scene))


def _draw_classes(scene: Scene) -> None:
    st.header("Which classes, and who is right with whom?", anchor=False)
    st.caption(
        "By true class, in percent of its n test cases; below, of all cases, and the mean of the classes that have "
        "examples, where each counts the same (balanced accuracy). Who is right with whom: how many cases, and how "
        "many of them go to the expert at this price and budget."
        f"{'' if len(scene.experts) == 1 else ' The systems ask different experts: each has a column of its own.'}"
    )
    table = compare_numbers.class_table(scene.classes, scene.experts)
    if len(table) > MANY_CLASSES:
        st.dataframe(table, hide_index=True, alt="Accuracy by class", placeholder=compare_numbers.NO_CASES)
    else:  # without the code of the large tables, which takes longer to load than all else
        st.table(plain_table(compare_numbers.as_text(table.set_index("class"))))
    st.table(plain_table(compare_numbers.confusion_table(scene.confusion)))
