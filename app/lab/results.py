"""What a fit of the live lab shows: key numbers, reliability, risk, accuracy against coverage, all measures."""

import threading
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app.fits import experiment
from app.fits.experiment import LabResult, Tables
from app.fits.settings import Binning
from app.kit import charts, numbers, section, summary
from app.kit.looks import ESTIMATORS, SYSTEMS
from app.lab import plane
from app.lab.state import STRATEGIES
from l2d_core.evaluation.measures import MEASURES, name_of_column

Rows = Mapping[tuple[str, str], numbers.Row]

CLASS_TRUTH = (
    "only by the class of each case. An estimate sees the image, not the class: even a perfect one is less spread out, "
    "and the distance to this truth does not rank estimators"
)
CURVES = {
    "system_accuracy": MEASURES["system"].words,
    "machine_accuracy": "accuracy on kept cases",
}


# One session draws at a time: Python could not do two at once, and changing between many costs more than waiting.
_TURN = threading.Lock()


@st.fragment
def draw(result: LabResult) -> None:
    """Key numbers, charts and the table of all; what is chosen here changes no training, and reruns nothing else."""
    with _TURN:
        _draw(result)


def _draw(result: LabResult) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        bins = st.slider("Bins", 5, 50, Binning.bins, key="bins", bind="query-params", width=260)
        strategy = st.segmented_control(
            "Kind of bins",
            list(STRATEGIES),
            default=Binning.strategy,
            required=True,
            format_func=STRATEGIES.get,
            key="bin_kind",
            bind="query-params",
            help="Equal width: the same range of estimates a bin. Equal mass: about the same number of cases a bin.",
        )
    binning, tables = Binning(bins, strategy), result.tables
    if binning != tables.binning:
        tables = experiment.tables_of(result.scores, result.truth, binning)
    in_words = numbers.bins_in_words(bins, strategy)
    summary.draw_key_numbers(tables.summary, in_words)
    _draw_reliability(tables)
    _draw_risk(tables, result.truth.given_case)
    _draw_coverage(result.curves, tables.summary)
    if result.plane is not None:
        plane.draw(result)
    st.header("All numbers", anchor=False)
    summary.draw_table(tables.summary, in_words)


def _draw_reliability(tables: Tables) -> None:
    reliability, above, rows = tables.reliability, tables.above_one, numbers.rows_of(tables.summary, "estimator")
    numbers_shown = section.header(
        "When it says 70 %, is the expert right in 70 %?",
        "Reliability: a mark a bin of all seeds together, with the 95 % Wilson interval for one seed's cases. On the "
        "diagonal it is calibrated; a calibrated estimator's mark falls into the grey band at least 95 % of the time, "
        "bin by bin. Above the diagonal the expert is better than the estimate says, below it worse. Estimates above 1 "
        "count in the last bin, as 1, and are shown apart in the shaded zone.",
        "reliability",
        reliability,
    )
    with st.container(key="charts-reliability"):
        for estimator, column in zip(reliability, st.columns(len(reliability)), strict=True):
            with column:
                st.markdown(section.name_of(estimator), unsafe_allow_html=True)
                if numbers_shown:
                    section.table(reliability[estimator])
                    continue
                section.chart(
                    charts.reliability(
                        reliability[estimator],
                        above[estimator],
                        ESTIMATORS[estimator],
                        is_bounded=charts.is_bounded(estimator),
                    ),
                    f"reliability-{estimator}",
                    f"Reliability diagram of {ESTIMATORS[estimator].title}",
                    _reliability_text(rows, estimator, reliability[estimator]),
                )


def _reliability_text(rows: Rows, estimator: str, bins: pd.DataFrame) -> str:
    n, share, low, high, gap = (
        bins[name].to_numpy() for name in ("n", "share_correct", "band_low", "band_high", "gap")
    )  # those of empty bins are NaN, which is neither below nor above
    outside = (share < low) | (share > high)
    return (
        f"Reliability diagram of {ESTIMATORS[estimator].title}. ECE {numbers.cell(rows[estimator, 'ece'])}. "
        f"{outside.sum()} of {(n > 0).sum()} filled bins lie outside the band of a calibrated estimator; "
        f"{(gap > 0).sum()} lie above the diagonal. "
        f"Share of estimates above 1: {numbers.cell(rows[estimator, 'above_one'])}."
    )


def _draw_risk(tables: Tables, given_case: bool) -> None:
    risk, true, rows = tables.risk, tables.true_risk, numbers.rows_of(tables.summary, "estimator")
    numbers_shown = section.header(
        "How much risk does it see in asking the expert?",
        "Risk is 1 - P(the expert is right). Bars: predicted. Left of 0, shaded: estimates above 1, a negative risk. "
        f"Grey outline: true, known {'for each case' if given_case else CLASS_TRUTH}.",
        "risk",
        {name: part.assign(true_share=true["share"]) for name, part in risk.items()},
    )
    with st.container(key="charts-risk"):
        for estimator, column in zip(risk, st.columns(len(risk)), strict=True):
            known = "the truth" if given_case else "the classes' truth"
            distance = f"distance to {known} {numbers.estimate(rows[estimator, 'risk_distance'])}"
            with column:
                st.markdown(section.name_of(estimator), unsafe_allow_html=True)
                st.caption(distance.capitalize())
                if numbers_shown:
                    section.table(risk[estimator].assign(true_share=true["share"]))
                    continue
                text = (
                    f"Histogram of the risk predicted by {ESTIMATORS[estimator].title} and of the true risk; "
                    f"Wasserstein {distance}. Share of cases with a predicted risk below 0.05: "
                    f"{numbers.percent(_share_below(risk[estimator], 0.05))}; true: "
                    f"{numbers.percent(_share_below(true, 0.05))}."
                )
                spec = charts.risk(risk[estimator], true, estimator, is_bounded=charts.is_bounded(estimator))
                section.chart(spec, f"risk-{estimator}", f"Histogram of risk by {ESTIMATORS[estimator].title}", text)


def _share_below(histogram: pd.DataFrame, risk: float) -> float:
    return float(histogram["share"].to_numpy()[histogram["high"].to_numpy() <= risk].sum())


def _draw_coverage(curves: Mapping[str, pd.DataFrame], table: pd.DataFrame) -> None:
    numbers_shown = section.header(
        "What does deferring buy?",
        "The machine keeps first the cases where its own probability exceeds the expert's by most, as the paper sorts "
        "them. Large marks: the system's own choice of what to defer. Optimal deferral knows which side is right; "
        "random deferral draws lots.",
        "coverage",
        curves,
    )
    rows = numbers.rows_of(table, "surrogate")
    with st.container(key="wide-charts-coverage"):
        if numbers_shown:
            for column, (name, curve) in zip(st.columns(len(curves)), curves.items(), strict=True):
                with column:
                    st.markdown(f"**{SYSTEMS[name].title}**")
                    section.table(curve)
            return
        for column, (measure, title) in zip(st.columns(2), CURVES.items(), strict=True):
            spec = charts.coverage(*_coverage_tables(curves, rows, measure), title)
            with column:
                section.chart(
                    spec,
                    f"coverage-{measure}",
                    f"{title} against coverage".capitalize(),
                    _coverage_text(curves, rows, measure, title),
                )


def _coverage_tables(
    curves: Mapping[str, pd.DataFrame], rows: Rows, measure: str
) -> tuple[charts.Columns, charts.Columns, charts.Columns]:
    shown = {"this system": measure}
    if measure == "system_accuracy":
        shown |= {"optimal deferral": "optimal", "random deferral": "random"}
    lines = [
        {"coverage": curve["coverage"], "accuracy": curve[column], "line": line, "system": SYSTEMS[name].title}
        for name, curve in curves.items()
        for line, column in shown.items()
    ]
    accuracy = name_of_column(measure)
    own = [(SYSTEMS[name].title, rows[name, "coverage"]["mean"], rows[name, accuracy]) for name in curves]
    points = [(title, coverage, row["mean"]) for title, coverage, row in own if row["mean"] is not None]
    alone = [("machine alone", SYSTEMS[name].title, rows[name, "machine_alone"]["mean"]) for name in curves]
    alone += [("expert alone", "", rows[next(iter(curves)), "expert_alone"]["mean"])]
    return (
        charts.stacked(lines),
        charts.columns_of(("system", "coverage", "accuracy"), points),
        charts.columns_of(("line", "system", "accuracy"), alone),
    )


def _coverage_text(curves: Mapping[str, pd.DataFrame], rows: Rows, measure: str, title: str) -> str:
    parts = [f"Lines of the {title} against coverage."]
    own = name_of_column(measure)
    for name in curves:
        parts.append(
            f"{SYSTEMS[name].title}: {numbers.estimate(rows[name, own])} at its own coverage of "
            f"{numbers.estimate(rows[name, 'coverage'])}; machine alone "
            f"{numbers.estimate(rows[name, 'machine_alone'])}, expert alone "
            f"{numbers.estimate(rows[name, 'expert_alone'])}."
        )
    return " ".join(parts)
