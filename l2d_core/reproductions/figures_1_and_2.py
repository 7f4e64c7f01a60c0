"""Figures 1 and 2: estimates of an expert who is right in 75 % or 20 %, and their calibration."""

import time

import numpy as np
import pandas as pd

from l2d_core.evaluation.accuracy import Statistic
from l2d_core.evaluation.estimator_view import above_one, reliability, risk_histogram
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.evaluation.summary import pooled_view
from l2d_core.reproductions.findings import WORDS, Finding, say_level, say_order
from l2d_core.reproductions.measured import BINS, ECE_NOTE, Value, Values, mean_of, measure_estimators, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request, notes_of
from l2d_core.reproductions.trained import TrainedSystems, first_expert_systems, trainings_of

HISTOGRAM_BIN, HISTOGRAM_END = 0.05, 3.0
PAPER_ABOVE_ONE = 0.394  # of the deferred cases, the only share of that size that is possible
PAPER_ECE = {"sigmoid": 0.0301, "odds": 0.0758}
NEAR_ZERO = 0.05
EXPERT_NOTE = (
    "The paper's text has an expert who is right in 75 % on five classes and 20 % on five; the authors' logged runs, "
    "from which the paper's numbers come, one who is right in 72.9 % on six and 9.1 % on four."
)


def figure1(request: Request) -> Reproduction:
    """The histogram of p_m, and the share above 1 by both denominators.

    details: "histogram": setting, estimator, low, high (empty: no end), share of all cases, cases (mean over seeds).
    """
    start = time.perf_counter()
    systems = first_expert_systems(request)
    values = measure_estimators(systems, ["above_one", "above_one_of_deferred", "coverage", "system"])
    first = systems[0].title
    paper = {(one.title, "softmax", "odds", "above_one_of_deferred"): PAPER_ABOVE_ONE for one in systems}
    findings = [
        say_level(
            f"{one.title}, share of the deferred cases whose softmax odds are above 1",
            pick(values, one.title, "odds", "above_one_of_deferred"),
            PAPER_ABOVE_ONE,
        )
        for one in systems
    ]
    return Reproduction(
        title="Figure 1: softmax estimates above 1",
        table=as_table(rows_of(values, paper)),
        details={
            "histogram": pd.concat([_histogram(one) for one in systems], ignore_index=True),
            **trainings_of(systems),
        },
        notes=notes_of(
            request,
            "The paper's 39.4 % above 1 can only be a share of the deferred cases: an estimate above 1 implies that "
            "its case is deferred: in the authors' logs 583 of 1,480.",
            EXPERT_NOTE,
        ),
        findings=(*findings, _bounded(values, first)),
        seconds=time.perf_counter() - start,
    )


def _bounded(values: Values, setting: str) -> Finding:
    shares = {name: mean_of(pick(values, setting, name, "above_one")) for name in ("sigmoid", "proxy")}
    found = ", ".join(f"{WORDS[name]} {100 * share:.1f} %" for name, share in shares.items())
    return Finding("beside", f"Share of all cases with the other estimators above 1, which they cannot be: {found}.")


def figure2(request: Request) -> Reproduction:
    """Reliability diagrams and risk histograms.

    details: "reliability": setting, estimator and the columns of `estimator_view.reliability`; "risk_histograms":
    setting, estimator ("true" is one), low, high, share; "above_one": as in `estimator_view.above_one`.
    """
    start = time.perf_counter()
    systems = first_expert_systems(request)
    values = measure_estimators(systems, ["ece", "ece_by_chance", "smooth_ece", "risk_distance"])
    values += _near_zero(systems)
    surrogates = {"odds": "softmax", "sigmoid": "one_vs_all"}
    paper = {(one.title, surrogates[name], name, "ece"): value for one in systems for name, value in PAPER_ECE.items()}
    findings = [_compare(values, one.title, measure) for one in systems for measure in ("ece", "risk_distance")]
    findings += [
        say_level(f"{one.title}, ECE of {WORDS[name]}", pick(values, one.title, name, "ece"), value)
        for one in systems
        for name, value in PAPER_ECE.items()
    ]
    return Reproduction(
        title="Figure 2: reliability diagrams and risk histograms",
        table=as_table(rows_of(values, paper)),
        details={
            "reliability": _reliability(systems),
            "above_one": _above_one(systems),
            "risk_histograms": _risk_histograms(systems),
            **trainings_of(systems),
        },
        notes=notes_of(
            request,
            ECE_NOTE,
            EXPERT_NOTE,
            "The true error of a case is that of the expert in its class: 25 % or 80 %; of the authors' logged expert "
            "27 % or 90 %; the paper's figure draws it at 25 % and 90 %. An estimate sees the image, not the class, so "
            "that not even a perfect one reaches distance 0.",
            f"Risk near 0: the share of cases with a predicted risk of at most {NEAR_ZERO:g}, estimates above 1 taken "
            "as 1; none of the true risks is that low: it is the false mode that the paper describes.",
        ),
        findings=(*findings, *(_mode(values, one.title) for one in systems)),
        seconds=time.perf_counter() - start,
    )


def _estimators(system: TrainedSystems) -> list[tuple[str, str]]:
    return estimators_of(list(system.test))


def _histogram(system: TrainedSystems) -> pd.DataFrame:
    edges = np.round(np.arange(0, HISTOGRAM_END + HISTOGRAM_BIN / 2, HISTOGRAM_BIN), 10)
    parts = []
    for surrogate, estimator in _estimators(system):
        raw = pooled_view(system.test[surrogate], estimator).probability
        # Closed on the right, as all bins here, so that exactly 1 is not above 1.
        counts = np.bincount(np.searchsorted(edges[1:], raw), minlength=len(edges))
        part = pd.DataFrame({"low": edges, "high": [*edges[1:], None], "share": counts / len(raw)})
        part["cases"] = counts / len(system.test[surrogate])
        parts.append(part.assign(setting=system.title, estimator=estimator))
    return pd.concat(parts, ignore_index=True)


def _reliability(systems: list[TrainedSystems]) -> pd.DataFrame:
    return pd.concat(
        [
            reliability(pooled_view(one.test[surrogate], estimator), bins=BINS).assign(
                setting=one.title, estimator=estimator
            )
            for one in systems
            for surrogate, estimator in _estimators(one)
        ],
        ignore_index=True,
    )


def _above_one(systems: list[TrainedSystems]) -> pd.DataFrame:
    return pd.concat(
        [
            above_one(pooled_view(one.test[surrogate], estimator)).assign(setting=one.title, estimator=estimator)
            for one in systems
            for surrogate, estimator in _estimators(one)
        ],
        ignore_index=True,
    )


def _risk_histograms(systems: list[TrainedSystems]) -> pd.DataFrame:
    """With those above 1 in no bin, as in `estimator_view.risk_histogram`."""
    parts = []
    for one in systems:
        true = risk_histogram(1 - one.true_probability)
        parts.append(true.assign(setting=one.title, estimator="true"))
        for surrogate, estimator in _estimators(one):
            raw = pooled_view(one.test[surrogate], estimator).probability
            parts.append(risk_histogram(1 - raw).assign(setting=one.title, estimator=estimator))
    return pd.concat(parts, ignore_index=True)


def _near_zero(systems: list[TrainedSystems]) -> list[Value]:
    values = []
    for one in systems:
        for surrogate, estimator in _estimators(one):
            for scores in one.test[surrogate]:
                raw = pooled_view([scores], estimator).probability
                share = Statistic.mean_of(raw >= 1 - NEAR_ZERO)
                values.append(Value(one.title, surrogate, estimator, "risk_near_zero", share))
    return values


_MEASURES = {"ece": "ECE", "risk_distance": "distance between predicted and true error"}


def _compare(values: Values, setting: str, measure: str) -> Finding:
    pair = (pick(values, setting, "sigmoid", measure), pick(values, setting, "odds", measure))
    paper = (PAPER_ECE["sigmoid"], PAPER_ECE["odds"]) if measure == "ece" else None
    return say_order(
        f"{setting}, {_MEASURES[measure]}",
        ("one-vs-all", "softmax odds"),
        pair,
        paper,
    )


def _mode(values: Values, setting: str) -> Finding:
    pair = tuple(pick(values, setting, name, "risk_near_zero") for name in ("odds", "sigmoid"))
    return say_order(
        f"{setting}, cases with a predicted risk near 0 (truly: none)",
        ("softmax odds", "one-vs-all"),
        (pair[0], pair[1]),
        None,
        paper_sign=1,
    )
