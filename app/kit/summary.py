"""The summary of a comparison: the row of key numbers, and the table of all measures."""

from html import escape

import pandas as pd
import streamlit as st

from app.kit import csv_files, numbers
from app.kit.looks import ESTIMATORS, SYSTEMS
from l2d_core.evaluation.measures import SUMMARY


def draw_key_numbers(summary: pd.DataFrame, bins: str) -> None:
    """One card an estimator with its ECE, one a system with its accuracy and coverage; bins: of the ECE, in words."""
    by_estimator, by_system = (numbers.rows_of(summary, by) for by in ("estimator", "surrogate"))
    cards = [_estimator_card(by_estimator, name, bins) for name in summary["estimator"].unique()]
    cards += [_system_card(by_system, name) for name in summary["surrogate"].unique()]
    st.html(f'<div class="kpis">{"".join(cards)}</div>')


def draw_table(summary: pd.DataFrame, bins: str) -> None:
    """All measures by estimator, each with its interval and n, and a download with full precision; bins: of the ECE."""
    st.table(table(summary))
    st.caption(
        "Mean ± half width of the 95 % interval over seeds (Student's t), for this split and these test cases: another "
        "first seed moves accuracies more. n is the number of cases behind one seed's number, its mean over seeds "
        f"where seeds differ. ECE: over {bins}. Softmax's two estimates share one system."
    )
    with st.expander("What the rows mean", icon=":material/help:"):
        st.markdown("\n".join(f"- **{one.title}**: {one.help} (n: {one.cases})" for one in SUMMARY.values()))
    csv_files.download_button("All numbers (CSV)", lambda: summary.assign(bins=bins), "numbers.csv")


def table(summary: pd.DataFrame) -> pd.DataFrame:
    """Text cells: a row a measure, a column an estimator."""
    rows = numbers.rows_of(summary, "estimator")
    known = set(summary["measure"])
    shown = {name: described.title for name, described in SUMMARY.items() if name in known}
    columns = {
        ESTIMATORS[name].title: [numbers.cell(rows[name, measure]) for measure in shown]
        for name in summary["estimator"].unique()
    }
    return pd.DataFrame(columns, index=list(shown.values()))


def _estimator_card(rows: dict[tuple[str, str], numbers.Row], name: str, bins: str) -> str:
    ece, chance = rows[name, "ece"], rows[name, "ece_by_chance"]
    note = f"by chance alone {numbers.percent(chance['mean'])}<br>{_seeds_and_cases(ece)}, {numbers.bins_of_ece(bins)}"
    return _card(f"ECE, {ESTIMATORS[name].title}", ESTIMATORS[name].color, numbers.estimate(ece), note)


def _system_card(rows: dict[tuple[str, str], numbers.Row], surrogate: str) -> str:
    system, coverage = rows[surrogate, "system"], rows[surrogate, "coverage"]
    # In words at the ends: a system that has learned never to ask, or always, is easily overlooked.
    kept = {0: "it always asks: the machine keeps nothing", 1: "it never asks: the machine keeps all"}.get(
        coverage["mean"], f"machine keeps {numbers.percent(coverage['mean'])}"
    )
    note = f"{kept}<br>{_seeds_and_cases(system)}"
    look = SYSTEMS[surrogate]
    return _card(f"Accuracy, {look.title}", look.color, numbers.estimate(system), note)


def _seeds_and_cases(row: numbers.Row) -> str:
    seeds = "1 seed" if row["seeds"] == 1 else f"{row['seeds']} seeds"
    return f"n = {numbers.count(row['n'])}, {seeds}"


def _card(name: str, color: str, value: str, note: str) -> str:
    main, plus, rest = value.partition(" ± ")
    shown = f"{escape(main)}<small>{escape(plus + rest)}</small>"
    return (
        f'<div class="kpi" style="--look: {color}"><div class="name">{escape(name)}</div>'
        f'<div class="value">{shown}</div><div class="note">{note}</div></div>'
    )
