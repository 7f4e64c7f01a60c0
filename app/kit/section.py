"""A section of charts: its question, an explanation, a switch from charts to numbers, and the table to download."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import charts, csv_files
from app.kit.html import render
from app.kit.looks import ESTIMATORS

VIEWS = ("Charts", "Numbers")


def header(question: str, explanation: str, name: str, tables: dict[str, pd.DataFrame]) -> bool:
    """Draw the header of a section; returns whether numbers are wanted instead of charts.

    tables: the data of the charts, by estimator or system, for one CSV file.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.header(question, anchor=False, width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            view = st.segmented_control(
                "View",
                VIEWS,
                default="Charts",
                required=True,
                key=f"view-{name}",
                label_visibility="collapsed",
            )
            csv_files.download_button(
                f"Table: {name}",
                lambda: csv_files.stacked(tables),
                f"{name}.csv",
                key=f"download-{name}",
                text="The numbers behind these charts as CSV. For a picture, use the button that each chart shows "
                "on its upper right when pointed at.",
            )
    st.caption(explanation)
    return view == "Numbers"


def chart(
    spec: charts.Spec,
    key: str,
    name: str,
    text: str,
    on_select: Callable[[], None] | None = None,
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Draw a Vega chart, followed by its content and numbers as text for screen readers only.

    name: the chart's accessible name. It must not depend on the numbers: with a new name the browser would rebuild the
    chart instead of moving its marks. on_select: called when something is selected in it. width: "content" for that of
    the specification.
    """
    alt = f"{name}. Its numbers are in the text that follows."
    st.vega_lite_chart(spec, key=key, alt=alt, on_select=on_select or "ignore", width=width)
    st.html(render('<p class="for-screen-readers">{{ text }}</p>', text=text))


def name_of(estimator: str) -> str:
    """The estimator's name after a mark in its colour, as HTML in Markdown."""
    look = ESTIMATORS[estimator]
    return f'<span class="mark" style="background: {look.color}"></span>**{look.title}**'


# Column titles of the tables behind the charts; columns that are not listed are only in the CSV.
COLUMNS = {
    "low": "from",
    "high": "to",
    "cases": "cases",
    "mean_probability": "estimate",
    "share_correct": "right",
    "gap": "gap",
    "interval_low": "right from",
    "interval_high": "right to",
    "band_low": "band from",
    "band_high": "band to",
    "share": "predicted",
    "true_share": "true",
    "coverage": "coverage",
    "system_accuracy": "system",
    "machine_accuracy": "machine, kept",
    "optimal": "optimal",
    "random": "random",
    "true": "true",
    "estimate": "estimate",
    "x1": "x1",
    "x2": "x2",
    "share_of_seeds": "deferred",
}


def table(frame: pd.DataFrame) -> None:
    """Show the columns in COLUMNS, with three digits; cases are those of one seed."""
    shown = frame[[name for name in COLUMNS if name in frame]].round(3)
    if "low" in shown and np.isneginf(shown["low"]).any():
        shown["low"] = ["no limit" if np.isneginf(low) else f"{low:g}" for low in shown["low"]]
    st.dataframe(shown.rename(columns=COLUMNS), hide_index=True, height=300)
