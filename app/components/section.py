"""A section of charts: its question, what is drawn, a switch from charts to numbers, and the table to download."""

import pandas as pd
import streamlit as st
from components.looks import ESTIMATORS

VIEWS = ("Charts", "Numbers")


def header(question: str, explanation: str, name: str, tables: dict[str, pd.DataFrame]) -> bool:
    """Draw the head of a section; returns whether the numbers are wanted in place of the charts.

    tables: what the charts draw, by estimator or system, for one CSV file.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.subheader(question, anchor=False, width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="bottom"):
            view = st.segmented_control(
                "View",
                VIEWS,
                default="Charts",
                required=True,
                key=f"view-{name}",
                label_visibility="collapsed",
            )
            st.download_button(
                "Table",
                lambda: to_csv(tables),
                f"{name}.csv",
                "text/csv",
                key=f"download-{name}",
                icon=":material/download:",
                on_click="ignore",
                help="The numbers behind these charts as CSV. For a picture, use the button that each chart shows "
                "on its upper right when pointed at.",
            )
    st.caption(explanation)
    return view == "Numbers"


def name_of(estimator: str) -> str:
    """The estimator's name behind its colour, as HTML in Markdown."""
    look = ESTIMATORS[estimator]
    return f'<span class="mark" style="background: {look.color}"></span>**{look.title}**'


def table(frame: pd.DataFrame) -> None:
    """A table of numbers, with three digits."""
    st.dataframe(frame.round(4), hide_index=True, height=300)


def to_csv(tables: dict[str, pd.DataFrame]) -> str:
    """The tables one under the other, with a first column that names each."""
    return pd.concat(tables, names=["of", "row"]).reset_index("of").to_csv(index=False)
