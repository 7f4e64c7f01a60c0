"""The page "The paper" in AppTest, with small results that are made for tests: how to make, open and read them."""

import re
from html import unescape

import numpy as np
import pandas as pd
from lab_page import assert_drawable, charts, open_home, tables_of, texts

from app.paper import results
from l2d_core.reproductions.findings import Finding
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.stored import write_reproduction

PAPER = "paper/page.py"
SETTING = "some expert, small heads"
SEEDS = 3
BOTH = (("softmax", "odds"), ("softmax", "proxy"), ("one_vs_all", "sigmoid"))
FINDINGS = (
    Finding("agrees", "A: one is lower, as in the paper; they differ by 1.00 ± 0.50 points."),
    Finding("open", "B: they differ by 0.10 ± 0.50 points, unlike in the paper."),
    Finding("differs", "C: one is higher; they differ by 1.00 ± 0.50 points."),
)
NUMBERS = ("mean", "half_width", "n", "seeds")


def made(name, **change):
    """A small result of this name."""
    table, details = MADE[name]()
    parts = {"title": f"Result {name}", "notes": ("a note",), "findings": FINDINGS, "seconds": 1.5}
    return Reproduction(**{**parts, "table": as_table(table), "details": details, **change})


def keep(root, name, scale="quick", result=None, **about):
    """A result as the command line keeps it, under this root; returns its folder."""
    start = {"name": name, "scale": scale, "dataset": "cifar10", "reference": False, "seeds": list(range(SEEDS))}
    folder = root / scale / name
    write_reproduction(folder, result or made(name), {**start, "versions": {"torch": "9.8.7"}, **about})
    return folder


def open_paper(name, **settings):
    """A new session on the page, by a link with this result."""
    app = open_home().switch_page(PAPER)
    for key, value in {"result": name, **settings}.items():
        app.session_state[key] = value
    return app.run()


def words(app):
    """All that a visitor can read or hear, as plain text."""
    return "\n".join(unescape(text) for text in texts(app))


def assert_sound(app):
    """No error, and all numbers are numbers."""
    problems = [*app.exception, *app.error]
    assert not problems, problems[0].value
    assert not [text for text in texts(app) if re.search(r"\b([Nn]a[Nn]|inf|None)\b", text)]
    for chart in charts(app):
        for name, table in tables_of(chart).items():
            assert_drawable(table, f"{name} of {chart.proto.alt}")


def number(setting, surrogate, estimator, measure, mean, paper=None, seeds=SEEDS):
    """A row of a result."""
    half_width = None if seeds == 1 else 0.02
    error = None if seeds == 1 else 0.005
    names = {"setting": setting, "surrogate": surrogate, "estimator": estimator, "measure": measure}
    rest = {"mean": mean, "standard_error": error, "half_width": half_width, "n": 250.0, "seeds": seeds}
    return {**names, **rest, "paper": paper}


def by_estimator(measures, paper=None, settings=(SETTING,)):
    """Rows of each measure for each estimator; paper: of the odds' first measure."""
    return [
        number(
            setting, *one, measure, 0.1 + 0.1 * place, paper if one[1] == "odds" and measure == measures[0] else None
        )
        for setting in settings
        for place, one in enumerate(BOTH)
        for measure in measures
    ]


def histogram(end=False):
    """Twenty bins of 0..1 for each estimator; end: those of odds go on above 1, the last without an end."""
    parts = []
    for _, estimator in BOTH:
        low = np.arange(20) / 20
        part = pd.DataFrame({"low": low, "high": low + 0.05, "share": 0.04})
        if end:
            above = pd.DataFrame({"low": [1.0, 3.0], "high": [1.05, None], "share": [0.15, 0.05]})
            part = pd.concat([part, above.astype(float)], ignore_index=True)
        parts.append(part.assign(setting=SETTING, estimator=estimator))
    return pd.concat(parts, ignore_index=True)


def risks():
    """Histograms of risk; of each estimate a fifth is negative, and in no bin."""
    true = pd.DataFrame(
        {"low": [0.25, 0.8], "high": [0.3, 0.85], "share": 0.5, "setting": SETTING, "estimator": "true"}
    )
    return pd.concat([true, histogram()], ignore_index=True)


def reliability():
    """Two bins for each estimator, the first of them empty."""
    shares = ["mean_probability", "share_correct", "gap", "interval_low", "interval_high", "band_low", "band_high"]
    rows = {"low": [0.0, 0.5], "high": [0.5, 1.0], "n": [0, 250], "cases": [0, 250], "cases_right": [0, 200]}
    table = pd.DataFrame({**rows, **{name: [None, 0.6] for name in shares}})
    return pd.concat([table.assign(setting=SETTING, estimator=one) for _, one in BOTH], ignore_index=True)


def _figure1():
    return by_estimator(["above_one_of_deferred", "above_one"], 0.394), {"histogram": histogram(end=True)}


def _figure2():
    above = pd.DataFrame({"share_correct": [0.6], "cases": [50.0], "cases_right": [30.0]})
    details = {"reliability": reliability(), "risk_histograms": risks()}
    above = above.assign(setting=SETTING, estimator="odds")
    return by_estimator(["ece", "risk_distance", "risk_near_zero"], 0.0758), {**details, "above_one": above}


def _table1():
    optimum = {"expert_alone": [0.7], "proxy_ece_at_optimum": [0.3], "proxy_ece": [0.31]}
    return by_estimator(["ece"], 0.0097, ("first", "second")), {
        "proxy_at_optimum": pd.DataFrame({"setting": ["first"], **optimum})
    }


def _classifier_ece():
    rows = [number(SETTING, name, "", "classifier_ece", 0.05, 0.06) for name in ("softmax", "one_vs_all")]
    sides = {"setting": SETTING, "surrogate": ["softmax", "one_vs_all"], "confidence": 0.8, "accuracy": 0.7}
    return rows, {"confidence": pd.DataFrame(sides)}


def _curve(columns, value):
    """A row for both systems at each combination of values of the columns."""
    table = pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)
    place = np.arange(len(table)) / len(table)
    return table.assign(**{value: 0.7 + 0.2 * place}, half_width=0.02, n=250, seeds=SEEDS)


def _k():
    curve = _curve({"k": [2, 3, 4], "surrogate": ["softmax", "one_vs_all"]}, "mean")
    return [number("k = 2", "softmax", "odds", "system", 0.75)], {"curve": curve, "ours": curve}


def _coverage():
    names = {"system": ["k = 5"], "order": ["probabilities", "logits"], "coverage": [0.1, 0.5, 1.0]}
    measures = {"surrogate": ["softmax", "one_vs_all"], "measure": ["machine_accuracy", "system_accuracy"]}
    points = _curve({"k": [2, 3, 4], "surrogate": ["softmax", "one_vs_all"]}, "mean")
    return [number("k = 5, coverage 10%", "softmax", "", "machine_accuracy", 0.9)], {
        "points": points.assign(coverage=[0.7, 0.6, 0.5, 0.4, 0.3, 0.2]),
        "curves": _curve({**names, **measures}, "mean"),
    }


def _ham10000():
    classes = {"setting": SETTING, "surrogate": "softmax", "class": ["mel", "nv"], "n": [20, 230]}
    shares = {name: [0.4, 0.9] for name in ("machine_alone", "expert_alone", "deferred", "system")}
    details = {"classes": pd.DataFrame({**classes, **shares}), "risk_histograms": risks()}
    return by_estimator(["risk_distance", "ece"], 0.2672), details


def _budgets():
    methods = list(results.METHODS)
    names = {"dataset": ["ham10000", "galaxy_zoo"], "method": methods, "rule": ["forced", "capped"]}
    curves = _curve({**names, "budget": [0.0, 0.4, 1.0]}, "error").assign(deferred=0.1)
    return [number("HAM10000, budget 20%, forced", "triage", "", "error", 0.2)], {"curves": curves}


def _temperature():
    rules = ["none", "temperature", "slope and shift, the authors' rule"]
    rows = [number(SETTING, "one_vs_all", rule, "system", 0.75 + 0.01 * place) for place, rule in enumerate(rules)]
    fitted = pd.DataFrame({"setting": SETTING, "rule": rules, "seed": 0, "temperature": 1.2, "log_loss": 0.6})
    return rows, {"temperatures": fitted}


def _answers():
    rows = by_estimator(["ece", "answers_by_heart"], settings=("drawn once", "drawn anew in each epoch"))
    return rows, {}


MADE = {
    "figure1": _figure1,
    "figure2": _figure2,
    "table1": _table1,
    "classifier_ece": _classifier_ece,
    "k": _k,
    "coverage": _coverage,
    "ham10000": _ham10000,
    "budgets": _budgets,
    "temperature": _temperature,
    "answers": _answers,
}
