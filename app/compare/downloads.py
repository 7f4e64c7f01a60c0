"""What can be taken away: the report, all charts as pictures, and the tables."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from app.compare import numbers as compare_numbers
from app.compare import report
from app.compare.scene import Scene
from app.kit import csv_files


def draw(scene: Scene, rows: np.ndarray, place: int) -> None:
    """The buttons; what they give is made when one is pressed. rows, place: the chosen cases and their system."""
    st.header("Take it away", anchor=False)
    with st.container(horizontal=True):
        _button(
            "Report (HTML)",
            lambda: report.page(scene),
            "comparison.html",
            "text/html",
            "One file, with settings, numbers, tables and all charts, that needs no network.",
        )
        _button("Charts (SVG, PNG)", lambda: report.pictures(scene), "charts.zip", "application/zip")
        csv_files.download_button(
            "Key numbers (CSV)",
            lambda: compare_numbers.table(scene.names, scene.numbers, scene.bins),
            "key-numbers.csv",
        )
        if scene.comparison.has_labels:
            csv_files.download_button("Classes (CSV)", lambda: report.classes_table(scene), "classes.csv")
        if len(rows):
            csv_files.download_button(
                "Chosen cases (CSV)",
                lambda: scene.cases(place, rows),
                "cases.csv",
            )


def _button(label: str, make: Callable[[], str | bytes], name: str, mime: str, text: str | None = None) -> None:
    st.download_button(label, make, name, mime, icon=":material/download:", on_click="ignore", help=text)
