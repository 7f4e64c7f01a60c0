"""What the figures of the paper share: parts of a result's tables, rows of charts, and small tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import section
from app.kit.looks import ESTIMATORS, SYSTEMS, Look
from app.kit.text import plain
from app.paper.words import beside
from l2d_core.evaluation.measures import measure_title


def part(table: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    """The rows with these values by column."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table


def parts_by(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The parts with one value in a column, in the order of the table."""
    for value in dict.fromkeys(table[column]):
        yield str(value), table[table[column] == value]


def heading(text: str) -> None:
    """Draw the heading of the charts below."""
    st.markdown(f"### {plain(text)}")


def each_estimator(key: str, estimators: Iterable[str]) -> Iterator[tuple[str, Look]]:
    """Iterate over the estimators, each under its name in a column of its own; the columns wrap."""
    names = list(dict.fromkeys(estimators))
    with st.container(key=key):
        for name, column in zip(names, st.columns(len(names)), strict=True):
            with column:
                st.markdown(section.name_of(name), unsafe_allow_html=True)
                yield name, ESTIMATORS[name]


def say(table: pd.DataFrame, measures: Sequence[str], **wanted: str) -> str:
    """These measures, in words with numbers, in the rows of a result with the wanted values."""
    rows = part(table, **wanted).to_dict("records")
    said = [f"{measure_title(one['measure'])}: {beside(one)}" for one in rows if one["measure"] in measures]
    return f"{'; '.join(said) or 'no number'}."


def show(table: pd.DataFrame, columns: Mapping[str, str], *, is_share: bool = True, missing: str = "n/a") -> None:
    """Draw a table of these columns under their titles; is_share: numbers in percent; missing: shown for NaN."""
    shown = table[list(columns)].copy()
    for name in columns:
        if name == "surrogate":
            shown[name] = [SYSTEMS[one].title for one in shown[name]]
        elif pd.api.types.is_float_dtype(shown[name]):
            written = [f"{100 * one:.1f} %" if is_share else f"{one:.4f}" for one in shown[name]]
            shown[name] = [missing if np.isnan(one) else text for one, text in zip(shown[name], written, strict=True)]
    st.dataframe(shown.rename(columns=dict(columns)), hide_index=True)
