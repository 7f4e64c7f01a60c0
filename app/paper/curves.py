"""Curves of the paper's results: accuracy against k and against coverage, and error against budget."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.kit import section
from app.kit.looks import SYSTEMS, Look
from app.paper import charts, state
from app.paper.parts import heading, part, parts_by
from app.paper.words import METHODS, RULES, SHOWN_FIRST
from l2d_core.evaluation.measures import measure_title
from l2d_core.reproductions.reproduction import Reproduction

MEASURES = {name: measure_title(name).lower() for name in ("machine_accuracy", "system_accuracy")}
ORDERS = {"probabilities": "Ordered by probabilities, as in the paper", "logits": "Ordered by logits"}
DATASETS = {"ham10000": "HAM10000", "hate_speech": "HateSpeech", "galaxy_zoo": "Galaxy Zoo"}
INTERVALS = "Bars: 95 % intervals over seeds, shifted slightly so that they do not overlap; long ones are cut off."


def k(result: Reproduction) -> None:
    """System accuracy against k, one line per system: with the paper's expert, and with ours."""
    st.caption(
        "The paper's expert is always right on k + 1 of the classes and guesses on the others; ours is right in 70 % "
        f"on k of them. {INTERVALS}"
    )
    _draw_k(result.details["curve"], "k", "The paper's expert")
    if "ours" in result.details:
        heading("Our own 70 % expert")
        _draw_k(result.details["ours"], "our-k", "Our 70 % expert")


def _draw_k(curve: pd.DataFrame, key: str, name: str) -> None:
    table = curve.rename(columns={"mean": "y", "k": "x"})
    table = table.assign(title=_titles(table["surrogate"]))
    _draw(
        table,
        _looks(table["surrogate"]),
        ("k: number of classes that the expert knows", "system accuracy"),
        "d",
        key,
        name,
    )


def coverage(result: Reproduction) -> None:
    """One operating point for each k, as in the paper; then our sweep, a row per set of systems, a chart per order."""
    st.caption(
        "The paper's design: each system decides by its own rule, one point for each k. The more the expert knows, the "
        "less the machine keeps."
    )
    points = result.details["points"].rename(columns={"mean": "y", "coverage": "x"})
    axes = ("coverage: share of cases that the machine keeps", MEASURES["machine_accuracy"])
    points = points.assign(title=_titles(points["surrogate"]))
    _draw(points, _looks(points["surrogate"]), axes, ".0%", "points", "One point for each k")
    _draw_sweep(result)


def _draw_sweep(result: Reproduction) -> None:
    heading("Ours: a threshold swept over all coverages")
    st.caption(
        "The machine keeps the first cases of an order, whether or not the system would defer them. Cases are ordered "
        f"by probabilities, as in the paper, or by logits. {INTERVALS}"
    )
    measure = _ask_measure()
    table = result.details["curves"].rename(columns={"mean": "y", "coverage": "x"})
    table = table[table["measure"] == measure].assign(title=lambda own: _titles(own["surrogate"]))
    axes = ("coverage: share of cases that the machine keeps", MEASURES[measure])
    for place, (system, own) in enumerate(parts_by(table, "system")):
        heading(system)
        with st.container(key=f"wide-charts-coverage-{place}"):
            orders = list(parts_by(own, "order"))
            for (order, lines), column in zip(orders, st.columns(len(orders)), strict=True):
                with column:
                    st.markdown(f"**{ORDERS.get(order, 'Another order')}**")
                    key = f"coverage-{place}-{order}"
                    _draw(lines, _looks(own["surrogate"]), axes, ".0%", key, f"{system}, by {order}", own)


def budgets(result: Reproduction) -> None:
    """Error against budget, one row per data set, one chart per rule."""
    st.caption(
        f"The share of wrong answers of machine and expert together, if at most the budget may be deferred. {INTERVALS}"
    )
    table = result.details["curves"].rename(columns={"error": "y", "budget": "x"})
    chosen = _ask_methods(set(table["method"]))
    if not chosen:
        st.info("Choose at least one method above.", icon=":material/show_chart:")
        return
    table = table[table["method"].isin(chosen)]
    table = table.assign(title=[METHODS[name].title for name in table["method"]])
    looks = [look for name, look in METHODS.items() if name in chosen]
    for place, (dataset, own) in enumerate(parts_by(table, "dataset")):
        heading(f"{DATASETS.get(dataset, dataset)}, n = {own['n'].iloc[0]:,.0f} test cases")
        with st.container(key=f"wide-charts-budgets-{place}"):
            for rule, column in zip(RULES, st.columns(len(RULES)), strict=True):
                with column:
                    st.markdown(f"**{RULES[rule]}**")
                    axes = ("budget: largest share that may be deferred", "error")
                    name = f"{DATASETS.get(dataset, dataset)}, {rule}"
                    _draw(part(own, rule=rule), looks, axes, ".0%", f"budgets-{place}-{rule}", name, own)


def _ask_measure() -> str:
    """A name in MEASURES."""
    return st.segmented_control(
        "Accuracy of",
        list(MEASURES),
        default="machine_accuracy",
        required=True,
        format_func=MEASURES.get,
        key=state.ACCURACY,
        bind="query-params",
        persist_state="session",
    )


def _ask_methods(there: set[str]) -> list[str]:
    """The chosen methods among those in the result, at first those of the paper."""
    return st.multiselect(
        "Methods",
        [name for name in METHODS if name in there],
        default=[name for name in SHOWN_FIRST if name in there],
        format_func=lambda name: METHODS[name].title,
        key=state.METHODS,
        bind="query-params",
        persist_state="session",
    )


def _titles(surrogates: pd.Series) -> list[str]:
    return [SYSTEMS[name].title for name in surrogates]


def _looks(surrogates: pd.Series) -> list[Look]:
    return [look for name, look in SYSTEMS.items() if name in set(surrogates)]


def _draw(
    table: pd.DataFrame,
    looks: Sequence[Look],
    axes: tuple[str, str],
    form: str,
    key: str,
    name: str,
    beside: pd.DataFrame | None = None,
) -> None:
    """Draw a chart of lines; beside: the table of all charts that share its y axis."""
    if table["y"].notna().sum() == 0:
        st.info("There is nothing to draw here.")
        return
    ends = (table if beside is None else beside)["y"]
    spec = charts.curves(table, looks, axes, form, (float(ends.min()), float(ends.max())))
    name = f"{name}: {axes[1]} against {axes[0].partition(':')[0]}"
    section.chart(spec, f"paper-{key}", name, f"{name}. {_say(table, form)}")


def _say(table: pd.DataFrame, form: str) -> str:
    """Each line's points in words."""
    lines = []
    for title, own in parts_by(table, "title"):
        points = own.sort_values("x")[["x", "y"]].dropna().itertuples(index=False)
        values = ", ".join(
            f"{100 * y:.1f} % at {x:.0f}" if form == "d" else f"{100 * y:.1f} % at {x:.0%}" for x, y in points
        )
        lines.append(f"{title}: {values}")
    seeds = "1 seed" if table["seeds"].iloc[0] == 1 else f"{table['seeds'].iloc[0]} seeds"
    return f"{'; '.join(lines)}. {seeds}."
