"""For data in the plane: where each system defers, beside where the Bayes rule does, and estimate against truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.fits.tables import LabResult, Plane
from app.kit import charts, section
from app.kit.looks import ESTIMATORS, GREY, SYSTEMS
from l2d_core.data import Scores
from l2d_core.evaluation.probabilities import estimators_of, expert_probability

CASES_SHOWN = 400
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")


def draw(result: LabResult) -> None:
    """Two rows: the true probability against each estimate, and the plane."""
    _draw_truth(result.scores, result.truth.probability)
    _draw_plane(result.plane, result.class_names)


def _draw_truth(scores: Mapping[str, Sequence[Scores]], true_probability: np.ndarray) -> None:
    pairs = estimators_of(list(scores))
    rows = np.linspace(0, len(true_probability) - 1, min(CASES_SHOWN, len(true_probability))).astype(int)
    tables = {}
    for surrogate, estimator in pairs:
        estimate = expert_probability(scores[surrogate][0], estimator)[rows, 0]
        tables[estimator] = pd.DataFrame({"true": true_probability[rows], "estimate": estimate})
    numbers_shown = section.header(
        "Is each single estimate right?",
        f"The estimate of the first seed against the true P(the expert is right | x), {len(rows)} test cases. On the "
        "diagonal an estimate is right, not only calibrated.",
        "truth",
        tables,
    )
    with st.container(key="charts-truth"):
        for (_, estimator), column in zip(pairs, st.columns(len(pairs)), strict=True):
            with column:
                st.markdown(section.name_of(estimator), unsafe_allow_html=True)
                if numbers_shown:
                    section.table(tables[estimator])
                    continue
                table = tables[estimator]
                error = float((table["estimate"] - table["true"]).abs().mean())
                text = (
                    f"{ESTIMATORS[estimator].title} against the true probability: mean absolute error {error:.3f} "
                    f"over {len(rows)} cases, correlation {_correlation(table)}."
                )
                shown = table.assign(estimate=table["estimate"].clip(upper=charts.ABOVE_ONE))
                name = f"{ESTIMATORS[estimator].title} against the true probability"
                section.chart(charts.truth(shown, estimator), f"truth-{estimator}", name, text)
                st.caption(f"Mean absolute error {error:.3f}, n = {len(rows)}")


def _correlation(table: pd.DataFrame) -> str:
    value = table["true"].corr(table["estimate"], method="spearman") if np.ptp(table["true"]) > 0 else np.nan
    return "n/a" if np.isnan(value) else f"{value:.2f} (ranks)"


def _draw_plane(plane: Plane, class_names: Sequence[str]) -> None:
    points, bayes = plane.points, plane.bayes_defers.astype(float)
    maps = {"bayes": bayes, **plane.deferred}
    tables = {
        name: pd.DataFrame({"x1": points[:, 0], "x2": points[:, 1], "share_of_seeds": share})
        for name, share in maps.items()
    }
    numbers_shown = section.header(
        "Where does it defer?",
        "Dark: deferred (by how many of the seeds). The Bayes rule defers where the expert is at least as likely to be "
        "right as the most likely class. Marks: test cases by class. Drag to zoom, double-click to reset.",
        "plane",
        tables,
    )
    with st.container(key="charts-plane"):
        for (name, share), column in zip(maps.items(), st.columns(len(maps)), strict=True):
            with column:
                title = "Bayes rule" if name == "bayes" else SYSTEMS[name].title
                st.markdown(f"**{title}**")
                if numbers_shown:
                    section.table(tables[name])
                    continue
                agree = float(np.mean((share >= 0.5) == (bayes >= 0.5)))
                text = (
                    f"Map of the plane: {title} defers {share.mean():.0%} of the area shown; "
                    f"most seeds agree with the Bayes rule on {agree:.0%} of it."
                )
                color = GREY if name == "bayes" else SYSTEMS[name].color
                figure = _figure(plane, share, class_names, color)
                st.plotly_chart(figure, key=f"plane-{name}", theme="streamlit", config=_CONFIG, alt=text)
                st.caption(f"Defers {share.mean():.0%} of this area, agrees with Bayes on {agree:.0%}")


_CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "svg", "filename": "plane"}}


def _figure(plane: Plane, share: np.ndarray, class_names: Sequence[str], color: str) -> dict[str, Any]:
    axis = np.unique(plane.points[:, 0])
    heat = {
        "type": "heatmap",
        "x": axis,
        "y": axis,
        "z": share.reshape(len(axis), len(axis)).round(3),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "rgba(128,136,146,0.06)"], [1, color]],
        "showscale": False,
        "hovertemplate": "x1 %{x:.2f}, x2 %{y:.2f}<br>deferred by %{z:.0%} of the seeds<extra></extra>",
    }
    marks = [_marks(plane, k, name) for k, name in enumerate(class_names)]
    layout = {
        "height": 360,
        "margin": {"l": 30, "r": 6, "t": 6, "b": 60},
        "uirevision": "plane",
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.12},
        "xaxis": {"range": [axis[0], axis[-1]], "constrain": "domain"},
        "yaxis": {"range": [axis[0], axis[-1]], "scaleanchor": "x", "constrain": "domain"},
    }
    return {"data": [heat, *marks], "layout": layout}


def _marks(plane: Plane, k: int, name: str) -> dict[str, Any]:
    shown = plane.cases[:CASES_SHOWN][plane.labels[:CASES_SHOWN] == k]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": shown[:, 0],
        "y": shown[:, 1],
        "marker": {"symbol": SYMBOLS[k], "size": 6, "color": GREY, "opacity": 0.75},
        "hovertemplate": f"{name} (%{{x:.2f}}, %{{y:.2f}})<extra></extra>",
    }
