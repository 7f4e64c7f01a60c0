"""A map: the test cases in two dimensions of the network's features, the uploads among them, and what a lasso takes."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from app.kit.looks import GREY, PARTIES
from app.lesions import neighbours, state
from app.lesions.judged import Deciding
from app.lesions.state import LesionSession
from l2d_core.evaluation.adjustment import name_classes
from l2d_core.evaluation.probabilities import expert_probability

COLOURED = {"diagnosis": "Diagnosis", "right": "Who is right", "risk": "Risk of asking the expert"}
MOST = 24  # test cases shown of a lasso
# Okabe-Ito, one colour and one mark a diagnosis.
COLORS = ("#E69F00", "#0072B2", "#56B4E9", "#CC79A7", "#D55E00", "#999999", "#009E73")
SYMBOLS = ("square", "diamond", "triangle-up", "star", "x", "circle", "cross")
RIGHT = {
    (True, True): ("both", GREY, "circle"),
    (True, False): ("machine only", PARTIES["machine"].color, "triangle-up"),
    (False, True): ("expert only", PARTIES["expert"].color, "diamond"),
    (False, False): ("neither", "#D55E00", "x"),
}


def draw(by: Deciding, session: LesionSession) -> None:
    """Draw the map, and the test cases that were selected on it."""
    coloured = st.segmented_control(
        "Colour", list(COLOURED), default="diagnosis", required=True, format_func=COLOURED.get, key=state.MAP_COLOUR
    )
    chart = st.plotly_chart(
        _figure(by, session, coloured),
        key=state.MAP,
        on_select="rerun",
        selection_mode=("lasso", "box"),
        config={"displaylogo": False},
        alt="Test cases in two dimensions of the network's features",
    )
    st.caption(
        "The two directions in which the diagnoses differ most (Fisher's discriminants of the one-vs-all network's "
        "features, fitted on validation images). What the lasso or the box takes is listed below."
    )
    rows = selected(chart)
    if rows:
        st.html(neighbours.figures(by, rows[:MOST]))
        st.caption(f"{min(len(rows), MOST)} of {len(rows):,} selected. {neighbours.CREDIT}")


def selected(chart: Any) -> list[int]:
    """The rows of the test cases that a browser says were selected; the uploads carry none."""
    points = chart.get("selection", {}).get("points", []) if isinstance(chart, Mapping) else []
    found = {int(point["customdata"][0]) for point in points if point.get("customdata")}
    return sorted(found)


def _figure(by: Deciding, session: LesionSession, coloured: str) -> go.Figure:
    bank, figure = by.system.bank, go.Figure()
    places = by.system.plane.place(bank.features[bank.parts == "test"].astype(np.float64))
    rows = _rows_of_scores(by)
    traces = _by_risk(by, rows) if coloured == "risk" else _by_group(by, rows, coloured)
    for name, members, marker in traces:
        figure.add_trace(_trace(name, places[members], members, marker))
    entries = session.first_entries()
    if entries:
        own = by.system.plane.place(np.concatenate([session.cases[one.digest].scores.features for one in entries]))
        figure.add_trace(
            go.Scattergl(
                x=own[:, 0],
                y=own[:, 1],
                mode="markers",
                name="your images",
                text=[escape(entry.name) for entry in entries],  # Plotly reads HTML in it
                hovertemplate="%{text}<extra>your image</extra>",
                marker={"size": 15, "symbol": "star", "color": "#F0E442", "line": {"width": 1.5, "color": "black"}},
            )
        )
    figure.update_layout(
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        dragmode="lasso",
        legend={"orientation": "v"},
        uirevision="lesion-map",
    )
    figure.update_xaxes(showticklabels=False, zeroline=False).update_yaxes(showticklabels=False, zeroline=False)
    return figure


def _trace(name: str, places: np.ndarray, members: np.ndarray, marker: dict[str, Any]) -> go.Scattergl:
    return go.Scattergl(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers",
        name=name,
        customdata=members[:, None],
        hovertemplate=f"test case, {name}<extra></extra>",
        marker={"size": 6, "opacity": 0.7, **marker},
    )


def _rows_of_scores(by: Deciding) -> np.ndarray:
    """For each test case of the bank, its row in the scores of the system that decides."""
    place_of = {str(name): place for place, name in enumerate(by.systems.reference.scores[by.rule.leader].ids)}
    return np.array([place_of[str(name)] for name in by.system.gallery.cases["id"]])


Group = tuple[str, np.ndarray, dict[str, Any]]


def _by_group(by: Deciding, rows: np.ndarray, coloured: str) -> list[Group]:
    scores = by.systems.reference.scores[by.rule.leader]
    if coloured == "diagnosis":
        labels = scores.labels[rows]
        looks = zip(by.system.class_names, COLORS, SYMBOLS, strict=True)
        return [
            (name, np.flatnonzero(labels == label), {"color": color, "symbol": symbol})
            for label, (name, color, symbol) in enumerate(looks)
        ]
    named = name_classes(scores.logits, by.rule.leader, by.systems.reference.adjustment).classes
    machine, expert = (named == scores.labels)[rows], scores.expert_correct[rows, 0]
    return [
        (name, np.flatnonzero((machine == own) & (expert == other)), {"color": color, "symbol": symbol})
        for (own, other), (name, color, symbol) in RIGHT.items()
    ]


def _by_risk(by: Deciding, rows: np.ndarray) -> list[Group]:
    risk = 1 - expert_probability(by.systems.reference.scores[by.rule.leader])[rows, 0]
    marker = {
        "color": np.clip(risk, 0, 1),
        "colorscale": "Cividis",
        "cmin": 0,
        "cmax": 1,
        "colorbar": {"title": "risk", "tickformat": ".0%"},
    }
    return [("predicted risk", np.arange(len(rows)), marker)]
