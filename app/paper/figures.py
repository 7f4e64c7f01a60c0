"""The figures of the paper's results: for each result a function that draws it from the result's tables."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from app.kit import charts, section
from app.kit.charts import is_bounded
from app.kit.looks import ESTIMATORS
from app.paper import charts as paper_charts
from app.paper import curves, ladders
from app.paper.parts import each_estimator, heading, part, parts_by, say, show
from l2d_core.calibration.binned import without_above_one
from l2d_core.reproductions.reproduction import Reproduction

RISK_EXPLANATION = (
    "Risk is 1 - P(the expert is right). Bars: predicted risk. Left of 0, shaded: estimates above 1, that is, negative "
    "risks. Grey outline: true risk, which is known only for each class. An estimate sees the image and not its class, "
    "so even a perfect one is less spread out."
)
RELIABILITY_EXPLANATION = (
    "Reliability: one point per bin, all seeds together, with the 95 % Wilson interval for the cases of one seed. "
    "Points on the diagonal are calibrated; in each bin, the point of a calibrated estimate falls into the grey band "
    "at least 95 % of the time. Estimates above 1 are shown in the shaded zone."
)


def figure1(result: Reproduction) -> None:
    """Histograms of the raw estimates, and the share above 1 by both denominators."""
    st.caption(
        "Distribution of the raw estimates, all seeds together, before anything is cut off. Shaded: above 1, where no "
        "probability can lie."
    )
    for place, (setting, own) in enumerate(parts_by(result.details["histogram"], "setting")):
        heading(setting)
        highest = float(own["share"].max())
        for estimator, look in each_estimator(f"charts-odds-{place}", own["estimator"]):
            words = say(result.table, ("above_one", "above_one_of_deferred"), setting=setting, estimator=estimator)
            name = f"Histogram of {look.title}, {setting}"
            spec = paper_charts.odds(part(own, estimator=estimator), look, highest)
            section.chart(spec, f"odds-{place}-{estimator}", name, f"{name}. {words}")
            st.caption(words)


def figure2(result: Reproduction) -> None:
    """Reliability diagrams, and under each the histogram of the risk that it predicts."""
    st.caption(RELIABILITY_EXPLANATION)
    st.caption(RISK_EXPLANATION)
    reliability, above_one = (result.details[name] for name in ("reliability", "above_one"))
    for place, (setting, bins) in enumerate(parts_by(reliability, "setting")):
        heading(setting)
        names = list(dict.fromkeys(bins["estimator"]))
        above = {name: part(above_one, setting=setting, estimator=name) for name in names}
        drawn = {name: without_above_one(part(bins, estimator=name), above[name]) for name in names}
        most = charts.most_cases(drawn.values(), above.values())
        for estimator, look in each_estimator(f"charts-reliability-{place}", names):
            own = {"setting": setting, "estimator": estimator}
            words = say(result.table, ("ece", "ece_by_chance"), **own)
            name = f"Reliability diagram of {look.title}, {setting}"
            how = {"is_bounded": is_bounded(estimator), "most": most}
            spec = charts.reliability(drawn[estimator], above[estimator], look, **how)
            section.chart(spec, f"reliability-{place}-{estimator}", name, f"{name}. {words}")
            st.caption(words)
        _draw_risks(result, setting, place)


def ham10000(result: Reproduction) -> None:
    """Distances between predicted and true risk, the histograms, and the classes behind them."""
    st.caption(f"Distance between the predicted and the true risk of deferring. {ladders.EXPLANATION}")
    ladders.draw(result.table, "risk_distance", "estimator", ESTIMATORS)
    st.caption(RISK_EXPLANATION)
    for place, (setting, _) in enumerate(parts_by(result.details["risk_histograms"], "setting")):
        heading(setting)
        _draw_risks(result, setting, place)
    with st.expander("Results by class", icon=":material/category:"):
        names = {"setting": "setting", "surrogate": "system", "class": "class", "n": "cases"}
        shares = {"machine_alone": "machine alone", "expert_alone": "expert alone", "deferred": "deferred"}
        show(result.details["classes"], {**names, **shares, "system": "system accuracy"}, missing="no examples")


def _draw_risks(result: Reproduction, setting: str, place: int) -> None:
    """Draw a row of risk histograms, predicted and true."""
    table = part(result.details["risk_histograms"], setting=setting)
    true = part(table, estimator="true")
    estimators = [name for name in table["estimator"] if name != "true"]
    for estimator, look in each_estimator(f"charts-risk-{place}", estimators):
        words = say(result.table, ("risk_distance", "risk_near_zero"), setting=setting, estimator=estimator)
        name = f"Risk histogram of {look.title}, {setting}"
        predicted = _with_negative(part(table, estimator=estimator))
        spec = charts.risk(predicted, true, estimator, is_bounded=is_bounded(estimator))
        section.chart(spec, f"risk-{place}-{estimator}", name, f"{name}. {words}")
        st.caption(words)


def _with_negative(table: pd.DataFrame) -> pd.DataFrame:
    """The histogram with a first bin for negative risks, the only ones that its bins leave out."""
    negative = 1 - float(table["share"].sum())
    first = pd.DataFrame({"low": [-np.inf], "high": [0.0], "share": [negative if negative > 1e-9 else 0.0]})
    return pd.concat([first, table[["low", "high", "share"]]], ignore_index=True)


# Result -> the function that draws it.
FIGURES: dict[str, Callable[[Reproduction], None]] = {
    "figure1": figure1,
    "figure2": figure2,
    "table1": ladders.table1,
    "classifier_ece": ladders.classifier_ece,
    "k": curves.k,
    "coverage": curves.coverage,
    "ham10000": ham10000,
    "budgets": curves.budgets,
    "temperature": ladders.temperature,
    "answers": ladders.answers,
}
