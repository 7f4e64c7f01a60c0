"""The cases behind the charts: chosen by controls, or by a click into a chart, which sets these controls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from app.compare import images as compare_images
from app.compare import state
from app.compare.board import Comparison
from app.compare.cases import ASKED, RIGHT, WHOLE, Filter
from app.compare.charts import BIN, RANGE
from app.jobs.runs import MAX_SYSTEMS
from app.kit.text import plain
from l2d_core.comparison import estimates
from l2d_core.evaluation.estimator_view import EstimatorView

MAX_ROWS, MAX_IMAGES = 200, 24
_TABLE = "cases"
COVERAGE_CHART = "compare-coverage"
CHARTS = (COVERAGE_CHART, *(f"compare-reliability-{place}" for place in range(MAX_SYSTEMS)))


def current(comparison: Comparison) -> Filter:
    """The filter that the controls describe."""
    names = [one.name for one in comparison.systems]
    system, label = state.case_setting("system"), state.case_setting("label")
    return Filter(
        place=names.index(system) if system in names else 0,
        label=label if label is not None and label < len(comparison.class_names) else None,
        estimates=tuple(state.case_setting("estimates", WHOLE)),
        coverage=tuple(state.case_setting("coverage", WHOLE)),
        right=state.case_setting("right", ""),
        asked=state.case_setting("asked", ""),
    )


def marked(chosen: Filter, rows: np.ndarray) -> np.ndarray:
    """The rows of the cases selected in the table of `draw`. rows: those that the table shows."""
    places = state.selected(_table_key(chosen)).get("rows", [])
    return rows[[place for place in places if place < min(len(rows), MAX_ROWS)]]


def _forget_selections(*, but: str = "") -> None:
    """Clear the selections of all charts but one."""
    for name in CHARTS:
        if name != but and any(state.selected(state.renewable_key(name)).values()):
            state.renew(name)


def take_bin(name: str, system: str, lowest: float) -> None:
    """After a click into a system's reliability diagram: choose that bin's cases.

    system: its name, since its place changes when others are removed; lowest: the left edge of the first bin.
    """
    picked = state.selected(state.renewable_key(name)).get(BIN)
    if not picked:
        state.set_cases(estimates=WHOLE)
        return
    state.set_case_origin("reliability")
    estimates_in_bin = Filter.bin(float(picked[0]["low"]), float(picked[0]["high"]), lowest)
    state.set_cases(system=system, estimates=estimates_in_bin, coverage=WHOLE)
    _forget_selections(but=name)


def take_range(name: str) -> None:
    """After a drag over the coverage curve: choose the cases in that part."""
    limits = (state.selected(state.renewable_key(name)).get(RANGE) or {}).get("x")
    if not limits:
        state.set_cases(coverage=WHOLE)
        return
    state.set_case_origin("curves")
    state.set_cases(coverage=(max(float(min(limits)), 0.0), min(float(max(limits)), 1.0)), estimates=WHOLE)
    _forget_selections(but=name)


def origin() -> str:
    """The section in whose chart the cases were chosen: "reliability", "curves", or ""."""
    return state.case_origin()


def clear() -> None:
    """Choose no cases."""
    _forget_selections()
    state.set_case_origin("")
    state.set_cases(label=None, estimates=WHOLE, coverage=WHOLE, right="", asked="")
    state.renew(_TABLE)


def _table_key(chosen: Filter) -> str:
    return f"{state.renewable_key(_TABLE)}-{chosen}"


def draw(
    comparison: Comparison, names: Sequence[str], view: EstimatorView, deferred: np.ndarray, rows: np.ndarray
) -> None:
    """Controls, table and pictures. view, deferred: of the chosen system; rows: its chosen cases."""
    st.header("Which cases are these?", anchor=False)
    st.caption(
        "Click on a bin of a reliability diagram, drag across the coverage curve, or choose cases here. Rows that you "
        "select in the table are marked in the charts of all systems."
    )
    _draw_controls(comparison, names)
    chosen = current(comparison)
    if not chosen.is_active:
        st.info("No cases are chosen.", icon=":material/filter_alt:")
        return
    found = estimates.cases(comparison.systems[chosen.place], view, deferred, rows[:MAX_ROWS])
    more = f" (the first {MAX_ROWS} are shown)" if len(rows) > MAX_ROWS else ""
    st.caption(f"{len(rows):,} of {len(view):,} test cases{more}, sorted by the expected gain of deferring.")
    if len(rows) == 0:
        st.info("No case meets these conditions.", icon=":material/search_off:")
        return
    st.dataframe(
        found.dropna(axis="columns", how="all"),
        hide_index=True,
        height=320,
        key=_table_key(chosen),
        on_select="rerun",
        selection_mode="multi-row",
        column_config=_columns(),
        alt="The chosen cases",
    )
    _draw_images(found["id"].tolist(), found["label"].tolist())


def _columns() -> dict:
    def percent(label: str, text: str) -> Any:
        return st.column_config.NumberColumn(label, format="percent", help=text)

    return {
        "label": "true class",
        "machine": "machine's prediction",
        "confidence": percent("confidence", "the machine's probability of the class that it predicts"),
        "expert": "expert's answer",
        "probability": percent("P(expert right)", "the estimate that the charts show"),
        "deferred": st.column_config.CheckboxColumn("deferred", help="at this cost and budget"),
        "gain": percent("gain", "expected gain of deferring, before the cost of asking"),
    }


def _draw_controls(comparison: Comparison, names: Sequence[str]) -> None:
    for name in ("estimates", "coverage"):
        if state.case_setting(name) is None:
            state.set_cases(**{name: WHOLE})
    if state.case_setting("system") not in names:
        state.set_cases(system=names[0])
    if (state.case_setting("label") or 0) >= max(len(comparison.class_names), 1):
        state.set_cases(label=None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox("System", names, key=state.case_key("system"), width=200)
        if comparison.class_names:
            labels = list(range(len(comparison.class_names)))
            st.selectbox(
                "True class",
                labels,
                index=None,
                format_func=lambda label: comparison.class_names[label],
                placeholder="All classes",
                key=state.case_key("label"),
                width=170,
            )
            st.selectbox("Who is right", list(RIGHT), format_func=RIGHT.get, key=state.case_key("right"), width=230)
        st.selectbox("Deferred", list(ASKED), format_func=ASKED.get, key=state.case_key("asked"), width=150)
        st.slider("Estimate", *WHOLE, step=0.001, format="percent", key=state.case_key("estimates"), width=210)
        if comparison.has_labels:
            st.slider(
                "Part of the coverage curve",
                *WHOLE,
                step=0.001,
                format="percent",
                key=state.case_key("coverage"),
                width=210,
                help="Left: the cases that the machine keeps longest; right: those that are deferred first.",
            )
        st.button("Clear", icon=":material/filter_alt_off:", on_click=clear)


def _draw_images(ids: Sequence[str], labels: Sequence[str | None]) -> None:
    images = compare_images.thumbnails(ids[:MAX_IMAGES])
    if not images:
        return
    truth = dict(zip(ids, labels, strict=True))
    with st.container(horizontal=True, key="case-images", gap="small"):
        for one, image in images.items():
            st.image(image, caption=plain(f"{one}: {truth[one]}"), width=96, alt=f"Case {one}, truly {truth[one]}")
