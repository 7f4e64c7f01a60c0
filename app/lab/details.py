"""Below the stage: all numbers, class by class, and what can be downloaded."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app.fits.tables import LabResult, Tables
from app.kit import csv_files, numbers
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.lab import state
from l2d_core.datasets import facts
from l2d_core.evaluation.measures import MEASURES, SUMMARY

FIRST = ("ece", "ece_by_chance", "above_one", "system", "coverage", "machine_on_kept", "expert_on_deferred")
CLASS_COLUMNS = {
    "class": "class",
    "n": "test cases",
    "machine_alone": "machine right",
    "expert_alone": "expert right",
    "deferred": "deferred",
    "system": "system right",
}
FILES = {
    "reliability": "Reliability diagrams",
    "estimates": "Histograms of the estimates",
    "risk": "Histograms of risk",
}


def draw(result: LabResult, tables: Tables) -> None:
    """Draw everything that stands below the stage."""
    _draw_numbers(result, tables)
    _draw_classes(result)
    if result.class_names == facts.HAM10000 and result.scores:
        from app.lab import groups_panel

        groups_panel.draw(result)
    if result.plane is not None:
        from app.lab import plane

        plane.draw(result)
    st.header("Downloads", anchor=False)
    with st.container(horizontal=True):
        for name, title in FILES.items():
            csv_files.download_button(f"{title} (CSV)", lambda name=name: _file(tables, name), f"{name}.csv")
        csv_files.download_button(
            "Accuracy against coverage (CSV)", lambda: csv_files.stacked(result.curves), "coverage.csv"
        )
        csv_files.download_button("Class by class (CSV)", lambda: csv_files.stacked(_classes(result)), "classes.csv")
    st.caption("For a picture, use the button that each chart shows at its upper right when pointed at.")


def table(summary: pd.DataFrame, measures: tuple[str, ...]) -> pd.DataFrame:
    """Text cells: one row per measure, one column per estimator."""
    rows = numbers.rows_of(summary, "estimator")
    known = [name for name in measures if name in set(summary["measure"])]
    columns = {
        ESTIMATORS[name].title: [numbers.cell(rows[name, measure]) for measure in known]
        for name in summary["estimator"].unique()
    }
    return pd.DataFrame(columns, index=[MEASURES[name].title for name in known])


def _file(tables: Tables, name: str) -> pd.DataFrame:
    parts = dict(getattr(tables, name))
    if name == "risk" and tables.true_risk is not None:
        parts = {key: part.assign(true_share=tables.true_risk["share"]) for key, part in parts.items()}
    return csv_files.stacked(parts)


def _draw_numbers(result: LabResult, tables: Tables) -> None:
    bins = numbers.bins_in_words(tables.binning.bins, tables.binning.strategy)
    st.header("Numbers", anchor=False)
    st.table(table(tables.summary, FIRST))
    more = st.expander(
        "All measures, and what they mean", icon=":material/table_rows:", on_change="rerun", key=state.MEASURES
    )
    if more.open:
        with more:
            st.table(table(tables.summary, tuple(name for name in SUMMARY if name not in FIRST)))
            st.markdown("\n".join(f"- **{one.title}**: {one.help} (n: {one.cases})" for one in SUMMARY.values()))
    st.caption(
        "Mean ± half-width of the 95 % interval over seeds (Student's t), for this split and these test cases; another "
        f"first seed changes accuracies more. n: the cases behind one seed's number. ECE: over {bins}. The two softmax "
        f"estimators share one system. {_trained(result)}"
    )
    csv_files.download_button("All numbers (CSV)", lambda: tables.summary.assign(bins=bins), "numbers.csv")


def _trained(result: LabResult) -> str:
    num_seeds = int(result.tables.summary["seeds"].max())
    how_many = f"{num_seeds} seeds of each loss" if num_seeds != 1 else "1 seed of each loss"
    how_long = "before this program was shipped" if result.seconds is None else f"{result.seconds:.2f} s"
    return (
        f"Trained on {result.num_train:,} cases ({how_many}, {how_long}) and scored on {result.num_test:,} test cases."
    )


def _draw_classes(result: LabResult) -> None:
    shown = st.expander("Class by class", icon=":material/category:", on_change="rerun", key=state.CLASSES)
    if not shown.open:
        return
    classes = _classes(result)
    with shown:
        for name, column in zip(classes, st.columns(len(classes)), strict=True):
            with column:
                st.markdown(f"**{SYSTEMS[name].title}**")
                st.dataframe(_class_table(classes[name]), hide_index=True, height="content")
        st.caption("Percent of the test cases of each class, mean over seeds; estimates above 100 % count as 100 %.")


def _classes(result: LabResult) -> Mapping[str, pd.DataFrame]:
    """By surrogate; made only when they are asked for, unless they are shipped."""
    if result.classes is not None:
        return result.classes
    from l2d_core.evaluation.summary import class_means

    return {name: class_means(scores) for name, scores in result.scores.items()}


def _class_table(classes: pd.DataFrame) -> pd.DataFrame:
    estimates = {name: f"{look.title}, mean" for name, look in ESTIMATORS.items() if name in classes}
    shown = classes.rename(columns=CLASS_COLUMNS | estimates)
    shares = [name for name in shown if name not in ("class", "test cases")]
    return shown.assign(**{name: (100 * shown[name]).round(1) for name in shares})
