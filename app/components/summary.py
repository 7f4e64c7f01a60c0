"""The summary of a comparison: the row of key numbers, and the table of all measures."""

from html import escape

import pandas as pd
import streamlit as st

from components import numbers
from components.looks import ESTIMATORS, SYSTEMS
from l2d_core.comparison import MEASURES


def draw_key_numbers(summary: pd.DataFrame) -> None:
    """One card an estimator with its ECE, one a system with its accuracy and coverage."""
    rows = summary.set_index(["estimator", "measure"], drop=False)
    cards = [_estimator_card(rows.loc[name], name) for name in summary["estimator"].unique()]
    first = summary.drop_duplicates("surrogate").set_index("surrogate")["estimator"]
    cards += [_system_card(rows.loc[estimator], surrogate) for surrogate, estimator in first.items()]
    st.html(f'<div class="kpis">{"".join(cards)}</div>')


def draw_table(summary: pd.DataFrame) -> None:
    """All measures by estimator, each with its interval and n, and a download with full precision."""
    st.table(table(summary))
    st.caption(
        "Mean ± half width of the 95 % interval over seeds (Student's t), for this split and these test cases: another "
        "first seed moves accuracies more. n is the number of cases behind one seed's number, its mean over seeds "
        "where seeds differ. Softmax's two estimates share one system."
    )
    with st.expander("What the rows mean", icon=":material/help:"):
        st.markdown("\n".join(f"- **{one.title}**: {one.help} (n: {one.cases})" for one in MEASURES.values()))
    st.download_button(
        "All numbers (CSV)",
        summary.to_csv(index=False),
        "numbers.csv",
        "text/csv",
        icon=":material/download:",
    )


def table(summary: pd.DataFrame) -> pd.DataFrame:
    """Text cells: a row a measure, a column an estimator."""
    cells = summary.assign(text=[numbers.cell(row) for _, row in summary.iterrows()])
    wide = cells.set_index(["measure", "estimator"])["text"].unstack()  # noqa: PD010 (pivot_table wants numbers)
    wide = wide.loc[[name for name in MEASURES if name in wide.index], list(summary["estimator"].unique())]
    wide.index = [MEASURES[name].title for name in wide.index]
    return wide.rename(columns={name: look.title for name, look in ESTIMATORS.items()}).rename_axis(None, axis=1)


def _estimator_card(rows: pd.DataFrame, name: str) -> str:
    ece, chance = rows.loc["ece"], rows.loc["ece_by_chance"]
    note = f"by chance alone {numbers.percent(chance['mean'])}<br>{_seeds_and_cases(ece)}"
    return _card(f"ECE, {ESTIMATORS[name].title}", ESTIMATORS[name].color, numbers.estimate(ece), note)


def _system_card(rows: pd.DataFrame, surrogate: str) -> str:
    system, coverage = rows.loc["system"], rows.loc["coverage"]
    note = f"machine keeps {numbers.percent(coverage['mean'])}<br>{_seeds_and_cases(system)}"
    look = SYSTEMS[surrogate]
    return _card(f"Accuracy, {look.title}", look.color, numbers.estimate(system), note)


def _seeds_and_cases(row: pd.Series) -> str:
    seeds = "1 seed" if row["seeds"] == 1 else f"{row['seeds']} seeds"
    return f"n = {numbers.count(row['n'])}, {seeds}"


def _card(name: str, color: str, value: str, note: str) -> str:
    main, plus, rest = value.partition(" ± ")
    shown = f"{escape(main)}<small>{escape(plus + rest)}</small>"
    return (
        f'<div class="kpi" style="--look: {color}"><div class="name">{escape(name)}</div>'
        f'<div class="value">{shown}</div><div class="note">{note}</div></div>'
    )
