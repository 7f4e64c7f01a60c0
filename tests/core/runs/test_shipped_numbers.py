"""The numbers of what is shipped, as they were computed before: all measures and curves, the lab's, and the files."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from l2d_core import LAB_DATASETS, fit, per_class, summarise
from l2d_core.common.paths import PRETRAINED
from l2d_core.comparison import estimates
from l2d_core.comparison.systems import System
from l2d_core.evaluation import estimator_view
from l2d_core.evaluation.summary import measure
from l2d_core.runs.folder import open_run

EXPECTED = json.loads(Path(__file__).with_name("shipped_numbers.json").read_text(encoding="utf-8"))
COST, BUDGET = 0.05, 0.3
SUMS = 1e-12  # relative: another processor may add in another order
FITTED = 1e-6  # relative: an iterative fit ends a little elsewhere there
TRAINED = 5e-3  # absolute: float32 training ends a little elsewhere there, and a case at a boundary may change sides
WORDS = ("manifest.json", ".index.json")  # findings in words, which may be written better, and what is not shipped
ESTIMATORS = [(run, estimator) for run, estimators in EXPECTED["runs"].items() for estimator in estimators]


def fingerprint(table, columns):
    """Of each column the sum, and the sum weighted by the row's number from 1."""
    rows = np.arange(1, len(table) + 1)
    values = {name: table[name].to_numpy(dtype=float) for name in columns}
    return {name: [np.nansum(column), np.nansum(column * rows)] for name, column in values.items()}


def system_of(name):
    run = open_run(PRETRAINED / name)
    return System(run.folder.name, run.test, run.validation)


@pytest.mark.parametrize(("run", "estimator"), ESTIMATORS)
def test_the_measures_of_a_shipped_run_are_those_of_before(run, estimator):
    found = measure(system_of(run).test, estimator, bins=15, strategy="equal_width")
    expected = dict(EXPECTED["runs"][run][estimator]["measures"])
    refinement, _ = expected.pop("refinement")
    assert found["uncertainty"].value - found["discrimination"].value == pytest.approx(refinement, rel=1e-9)
    assert {name: found[name].n for name in expected} == {name: n for name, (_, n) in expected.items()}
    values = {name: value for name, (value, _) in expected.items()}
    assert {name: found[name].value for name in expected} == pytest.approx(values, rel=SUMS, abs=0)


@pytest.mark.parametrize(("run", "estimator"), ESTIMATORS)
def test_the_curves_of_a_shipped_run_are_those_of_before(run, estimator):
    view = estimates.view_system(system_of(run), estimator=estimator)
    tables = {
        "reliability": estimator_view.reliability(view),
        "risk": estimator_view.risk_histogram(1 - view.probability),
        "coverage": estimator_view.coverage_curve(view),
    }
    for name, expected in EXPECTED["runs"][run][estimator]["curves"].items():
        found = fingerprint(tables[name], expected)
        for column, sums in expected.items():
            assert found[column] == pytest.approx(sums, rel=SUMS, abs=0), f"{name}: {column}"


@pytest.mark.parametrize("recalibration", ["none", "temperature", "platt", "isotonic"])
@pytest.mark.parametrize(("run", "estimator"), ESTIMATORS)
def test_decisions_at_a_cost_and_a_budget_are_those_of_before(run, estimator, recalibration):
    view = estimates.view_system(system_of(run), estimator=estimator, recalibration=recalibration)
    deferred = estimates.decide(view, cost=COST, budget=BUDGET)
    expected = dict(EXPECTED["runs"][run][estimator][recalibration])
    tolerance = FITTED if recalibration in ("temperature", "platt") else SUMS
    assert deferred.sum() == expected.pop("deferred")
    curve = fingerprint(estimates.budget_curve(view, cost=COST), ["system_accuracy"])["system_accuracy"]
    assert curve == pytest.approx(expected.pop("budget curve"), rel=tolerance, abs=0)
    found = estimates.key_numbers(view, deferred, cost=COST)
    assert {name: found[name].n for name in expected} == {name: n for name, (_, n) in expected.items()}
    values = {name: value for name, (value, _) in expected.items()}
    assert {name: found[name].value for name in expected} == pytest.approx(values, rel=tolerance, abs=0)


def test_the_lab_computes_what_it_computed_before():
    splits = LAB_DATASETS["digits"].load(seed=0, noise=0.5)
    expert = per_class([0.75] * 5 + [0.2] * 5)
    table = summarise(fit(splits.train, splits.test, expert, seeds=range(2)).scores)
    found = {(row.estimator, row.measure): row.mean for row in table.itertuples()}
    for estimator in EXPECTED["lab"]:
        found[estimator, "refinement"] = found[estimator, "uncertainty"] - found[estimator, "discrimination"]
    expected = {(estimator, name): mean for estimator, means in EXPECTED["lab"].items() for name, mean in means.items()}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=TRAINED)


@pytest.mark.parametrize("folder", EXPECTED["files"])
def test_a_shipped_file_is_the_one_of_before(folder):
    digest = hashlib.sha256()
    for path in sorted((PRETRAINED / folder).iterdir()):
        if path.suffix in (".csv", ".npz", ".safetensors", ".json") and path.name not in WORDS:
            digest.update(path.name.encode() + path.read_bytes())
    assert digest.hexdigest() == EXPECTED["files"][folder]
