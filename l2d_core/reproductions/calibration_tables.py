"""Table 1 and the appendix table: calibration errors of expert estimates and of the classifier, in four settings."""

import time

import numpy as np
import pandas as pd

from l2d_core.evaluation.probabilities import classifier_pairs
from l2d_core.reproductions.experiment import BOTH_RANDOM, BOTH_USEFUL, FOUR_SETTINGS, RANDOM_DATA, RANDOM_EXPERT
from l2d_core.reproductions.findings import WORDS, Finding, say_order
from l2d_core.reproductions.measured import (
    ECE_NOTE,
    Value,
    Values,
    classifier_error,
    mean_of,
    measure_estimators,
    pick,
    rows_of,
)
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request, notes_of
from l2d_core.reproductions.trained import TrainedSystems, train_systems, trainings_of

_SURROGATES = {"sigmoid": "one_vs_all", "odds": "softmax", "proxy": "softmax"}
PAPER_ECE = {
    BOTH_RANDOM: {"sigmoid": 0.0053, "odds": 0.0097, "proxy": 0.0004},
    RANDOM_EXPERT: {"sigmoid": 0.0068, "odds": 0.0372, "proxy": 0.0283},
    RANDOM_DATA: {"sigmoid": 0.0205, "odds": 0.0207, "proxy": 0.3906},
    BOTH_USEFUL: {"sigmoid": 0.0168, "odds": 0.0332, "proxy": 0.3715},
}
PAPER_CLASSIFIER = {
    BOTH_RANDOM: (0.0051, 0.0034),
    RANDOM_EXPERT: (0.0647, 0.0722),
    RANDOM_DATA: (0.0194, 0.0236),
    BOTH_USEFUL: (0.0692, 0.0792),
}
_SETTING_NOTE = (
    "Random data: training labels are drawn uniformly, and the expert answers by these; test labels are the true ones, "
    "and the expert answers by those, so that how often it is right is the same in both."
)


def table1(request: Request) -> Reproduction:
    """ECE of the three estimators in the paper's four settings.

    details: "proxy_at_optimum": setting, expert_alone, and the proxy's ECE if it were perfect, and as it is.
    """
    start = time.perf_counter()
    systems = train_systems(request, FOUR_SETTINGS)
    values = measure_estimators(systems, ["ece", "ece_by_chance", "smooth_ece", "expert_alone", "system"])
    paper = {
        (one.title, _SURROGATES[name], name, "ece"): value
        for one, own in PAPER_ECE.items()
        for name, value in own.items()
    }
    findings = []
    for one, own in PAPER_ECE.items():
        ours = {name: pick(values, one.title, name, "ece") for name in own}
        pairs = [("sigmoid", "odds"), ("proxy", "odds"), ("proxy", "sigmoid")]
        findings += [
            say_order(f"{one.title}, ECE", (WORDS[a], WORDS[b]), (ours[a], ours[b]), (own[a], own[b])) for a, b in pairs
        ]
    return Reproduction(
        title="Table 1: is the expert right as often as estimated?",
        table=as_table(rows_of(values, paper)),
        details={"proxy_at_optimum": _proxy_at_optimum(values), **trainings_of(systems)},
        notes=notes_of(request, ECE_NOTE, _SETTING_NOTE, _PROXY_NOTE),
        findings=tuple(findings),
        seconds=time.perf_counter() - start,
    )


_PROXY_NOTE = (
    "At the optimum the proxy is P / (1 + P), so that an expert of one accuracy P everywhere has the proxy ECE "
    "P - P / (1 + P): 0.9 % at P = 10 % and 30.8 % at P = 73 %. The paper has 0.04 % and 39.06 %: with random data its "
    "networks are not at the optimum."
)


def _proxy_at_optimum(values: Values) -> pd.DataFrame:
    """What the proxy's ECE would be if the estimate were perfect and the same for all cases, by setting."""
    rows = []
    for setting in dict.fromkeys(one.setting for one in values):
        right = mean_of(pick(values, setting, "proxy", "expert_alone"))
        rows.append((setting, right, right - right / (1 + right), mean_of(pick(values, setting, "proxy", "ece"))))
    return pd.DataFrame(rows, columns=["setting", "expert_alone", "proxy_ece_at_optimum", "proxy_ece"])


def classifier_ece(request: Request) -> Reproduction:
    """ECE of the classifier's own confidence in the four settings.

    details: "confidence": setting, surrogate, confidence and accuracy (means over cases and seeds).
    """
    start = time.perf_counter()
    systems = train_systems(request, FOUR_SETTINGS)
    values = [
        Value(one.title, surrogate, "", "classifier_ece", classifier_error(scores))
        for one in systems
        for surrogate, own in one.test.items()
        for scores in own
    ]
    sides = _sides(systems)
    paper, findings = {}, []
    for one, (one_vs_all, softmax) in PAPER_CLASSIFIER.items():
        paper[(one.title, "one_vs_all", "", "classifier_ece")] = one_vs_all
        paper[(one.title, "softmax", "", "classifier_ece")] = softmax
        ours = [pick(values, one.title, "", "classifier_ece", name) for name in ("one_vs_all", "softmax")]
        findings.append(
            say_order(
                f"{one.title}, the classifier's ECE",
                ("one-vs-all", "softmax"),
                (ours[0], ours[1]),
                (one_vs_all, softmax),
            )
        )
    return Reproduction(
        title="Appendix: is the classifier right as often as it says?",
        table=as_table(rows_of(values, paper)),
        details={"confidence": sides, **trainings_of(systems)},
        notes=notes_of(
            request,
            ECE_NOTE,
            "The classifier's confidence is that of its best class, over all test cases, deferred ones too. Where it "
            "is not sure enough, its error has another cause than that of networks which overfit: they are too sure.",
            _SETTING_NOTE,
        ),
        findings=(*findings, *_say_sides(sides)),
        seconds=time.perf_counter() - start,
    )


def _sides(systems: list[TrainedSystems]) -> pd.DataFrame:
    rows = []
    for one in systems:
        for surrogate, own in one.test.items():
            confidence, right = zip(*map(classifier_pairs, own), strict=True)
            rows.append((one.title, surrogate, float(np.mean(confidence)), float(np.mean(right))))
    return pd.DataFrame(rows, columns=["setting", "surrogate", "confidence", "accuracy"])


def _say_sides(sides: pd.DataFrame) -> list[Finding]:
    """Whether each classifier is overconfident on average."""
    said = []
    for one in sides.to_dict("records"):
        side = "too sure" if one["confidence"] > one["accuracy"] else "not sure enough"
        name = WORDS.get(one["surrogate"], one["surrogate"])
        text = (
            f"{one['setting']}, the classifier of {name} is {side} on average: confidence "
            f"{100 * one['confidence']:.1f} %, right in {100 * one['accuracy']:.1f} %."
        )
        said.append(Finding("beside", text))
    return said
