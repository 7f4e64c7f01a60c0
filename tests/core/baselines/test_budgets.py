"""Error against budget: the ends of every curve, both rules, and what the tables say."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_lab import EXPERT, LINEAR, ROUNDING, clouds

from l2d_core.baselines import METHODS
from l2d_core.baselines import budget_errors as budget_errors_module
from l2d_core.baselines.asked_cases import ask_simulated
from l2d_core.baselines.budget_errors import RULES, budget_errors
from l2d_core.baselines.classifier import class_loss
from l2d_core.baselines.score import score_loss
from l2d_core.baselines.triage import best_triage, expert_loss, triage_loss
from l2d_core.data import Splits
from l2d_core.lab import heads
from l2d_core.reproductions import error_against_budget
from l2d_core.reproductions.findings import WORDS
from l2d_core.reproductions.request import Request

BUDGETS = (0.0, 0.25, 0.5, 1.0)


def named(part, num_cases, seed):
    data = clouds(num_cases, seed)
    return replace(data, ids=[f"{part} {row}" for row in range(num_cases)])


@pytest.fixture(scope="module")
def cases():
    splits = Splits(named("train", 60, 0), named("validation", 30, 1), named("test", 41, 2))
    return ask_simulated(splits, EXPERT, (0, 1))


@pytest.fixture(scope="module")
def points(cases):
    return budget_errors(cases, LINEAR, BUDGETS)


def test_every_method_has_a_point_for_each_rule_budget_and_seed(points):
    found = {(one.method, one.rule, one.budget, one.seed) for one in points}
    assert len(found) == len(points) == len(METHODS) * len(RULES) * len(BUDGETS) * 2


def test_all_deferred_is_the_expert_alone_and_none_deferred_is_not(points, cases):
    labels = cases.splits.test.labels.numpy()
    for one in points:
        if one.budget == 1 and one.rule == "forced":
            wrong = (cases.answers["test"][one.seed] != labels).mean()
            assert one.error == pytest.approx(wrong)
            assert one.deferred == 1
        if one.budget == 0:
            assert one.deferred == 0


def test_none_deferred_is_the_machine_alone(points, cases):
    """Methods that know their budget are an ordinary classifier at 0, but for the one that then trains on nothing."""
    errors = {(one.method, one.seed): one.error for one in points if one.budget == 0 and one.rule == "forced"}
    for seed in (0, 1):
        for method in ("confidence", "triage", "selective", "compare_confidence"):
            assert errors[method, seed] == errors["score", seed]
        untrained = (cases.splits.test.labels.numpy() != 0).mean()  # all logits are 0, and the first class wins
        assert errors["confidence_as_written", seed] == pytest.approx(untrained)


def test_a_forced_budget_is_used_up_and_a_capped_one_at_most(points):
    for one in points:
        allowed = np.floor(one.budget * one.n) / one.n
        if one.rule == "forced" or not METHODS[one.method].has_cap:
            assert one.deferred == pytest.approx(allowed)
        else:
            assert one.deferred <= allowed + 1e-9


def test_the_temperature_is_fitted_on_validation_cases_and_the_triage_on_training_cases(cases, monkeypatch):
    def logits_on(part, name, loss):
        settings = {"seeds": cases.seeds, "config": LINEAR, "people": cases.people(), "losses": {name: loss}}
        data = getattr(cases.splits, part)
        made = heads.fit(
            cases.splits.train, cases.splits.test, None, surrogates=(name,), extra_inputs=data.inputs, **settings
        )
        return made.extra_logits[name]

    seen = {"temperature": [], "triage": []}

    def fit_temperature(logits, labels):
        seen["temperature"].append((logits, labels))
        return 1.0

    def triage(machine_loss, losses, budget):
        seen["triage"].append(machine_loss)
        return best_triage(machine_loss, losses, budget)

    monkeypatch.setattr(budget_errors_module, "fit_temperature", fit_temperature)
    monkeypatch.setattr(budget_errors_module, "best_triage", triage)
    budget_errors(cases, LINEAR, (0.5,))
    expected = logits_on("validation", "score", score_loss())
    loss = triage_loss(0.5, expert_loss(cases.expert_probability))
    on_train = torch.from_numpy(logits_on("train", "triage", loss))
    for place in (0, 1):
        np.testing.assert_allclose(seen["temperature"][place][0], expected[place], atol=ROUNDING)
        assert (seen["temperature"][place][1] == cases.splits.validation.labels.numpy()).all()
        machine = class_loss(on_train[place], cases.splits.train.labels)
        np.testing.assert_allclose(seen["triage"][place], machine, atol=10 * ROUNDING)


@pytest.mark.parametrize("budgets", [(), (0.1, 0.1), (1.2,)])
def test_budgets_that_make_no_sense_are_refused(cases, budgets):
    with pytest.raises(ValueError, match="budget"):
        budget_errors(cases, LINEAR, budgets)


@pytest.fixture(scope="module")
def result(points):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_against_budget, "CASES", {"digits": None})
        patch.setattr(error_against_budget, "SHOWN", (0.5,))
        patch.setattr(error_against_budget, "measure_budgets", lambda name, seeds: points)
        return error_against_budget.budgets(Request((0, 1)))


def test_curves_are_means_over_seeds_with_their_n(result, points):
    curves = result.details["curves"]
    assert len(curves) == len(METHODS) * len(RULES) * len(BUDGETS)
    row = curves.query("method == 'triage' and rule == 'capped' and budget == 0.25").iloc[0]
    own = [one.error for one in points if (one.method, one.rule, one.budget) == ("triage", "capped", 0.25)]
    assert row["error"] == pytest.approx(np.mean(own))
    assert (curves["n"] == 41).all()
    assert (curves["seeds"] == 2).all()
    assert set(result.table["measure"]) == {"error", "deferred"}


def test_findings_name_every_baseline_once_for_each_rule(result):
    ranks = [finding.text for finding in result.findings if "one-vs-all's" in finding.text]
    assert len(ranks) == len(RULES)
    for finding in ranks:
        for method in set(METHODS) - {"softmax", "one_vs_all"}:
            assert finding.count(f" {WORDS.get(method, method)} (") == 1
