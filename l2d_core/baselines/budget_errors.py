"""All methods within budgets, trained on the same cases and answers: the system's error by the share deferred."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from l2d_core.baselines import METHODS
from l2d_core.baselines.asked_cases import AskedCases, extra_points
from l2d_core.baselines.classifier import class_loss, fit_temperature
from l2d_core.baselines.confidence import confidence_loss, confidence_margin
from l2d_core.baselines.score import compare_loss, compare_margin, score_loss, score_margin, selective_margin
from l2d_core.baselines.triage import best_triage, expert_loss, triage_loss, triage_margin, triage_network_loss
from l2d_core.config import HeadConfig
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import expected_accuracies
from l2d_core.evaluation.deferral import num_deferred, share_deferred
from l2d_core.evaluation.margins import margin_of_scores
from l2d_core.lab import heads
from l2d_core.lab.setup import HeadLoss

RULES = ("forced", "capped")
# As in the authors' code for HateSpeech: the two curves of the paper's figure follow different rules.
AUTHORS_RULE = {"softmax": "forced", "one_vs_all": "capped"}


@dataclass(frozen=True)
class BudgetPoint:
    """A method at a budget, for one seed. error: the share of wrong answers of the system over n cases.

    rule: "forced", exactly floor(bN) cases are deferred; "capped", at most, and only those that the method would defer.
    deferred: the share that was.
    """

    method: str
    rule: str
    budget: float
    seed: int
    error: float
    deferred: float
    n: int


def budget_errors(cases: AskedCases, head: HeadConfig, budgets: Sequence[float]) -> list[BudgetPoint]:
    """Every method of METHODS at every budget, rule and seed. ValueError on a budget outside 0..1, or twice."""
    if len(set(budgets)) < len(budgets) or not len(budgets):
        raise ValueError(f"budgets must be given, each once, got {list(budgets)}")
    fit = _fit(cases, head, _losses(cases, budgets))
    networks = _fit_triage(cases, head, fit, budgets)
    points = []
    for budget in budgets:
        for method, place, scores, margin in _systems(cases, fit, networks, budget):
            points += [budget_point(method, rule, budget, cases.seeds[place], scores, margin) for rule in RULES]
    return points


def _losses(cases: AskedCases, budgets: Sequence[float]) -> dict[str, HeadLoss]:
    """Name -> loss: one for methods trained without a budget, one per budget for the others."""
    right, losses = cases.expert_right("train"), expert_loss(cases.expert_probability)
    made: dict[str, HeadLoss] = {"score": score_loss(), "compare_confidence": compare_loss()}
    for budget in budgets:
        made[_at("confidence", budget)] = confidence_loss(budget, right)
        made[_at("confidence_as_written", budget)] = confidence_loss(budget, right, rule="as_written")
        made[_at("triage", budget)] = triage_loss(budget, losses)
    return made


def _at(method: str, budget: float) -> str:
    return f"{method} at {budget:g}"


def _fit(cases: AskedCases, head: HeadConfig, losses: dict[str, HeadLoss], *, networks: bool = False) -> heads.LabFit:
    names = [*losses] if networks else ["softmax", "one_vs_all", *losses]
    return heads.fit(
        cases.splits.train,
        cases.splits.test,
        None,
        people=cases.people(),
        surrogates=names,
        seeds=cases.seeds,
        config=head,
        losses=losses,
        extra_inputs=None if networks else extra_points(cases),
    )


def _fit_triage(cases: AskedCases, head: HeadConfig, fit: heads.LabFit, budgets: Sequence[float]) -> heads.LabFit:
    """The triage networks, one per budget, fitted to the best triage of the training cases."""
    labels, losses = cases.splits.train.labels, expert_loss(cases.expert_probability)
    made = {}
    for budget in budgets:
        name = _at("triage", budget)
        logits = fit.extra_logits[name][:, : len(labels)]
        decisions = {
            seed: best_triage(class_loss(torch.from_numpy(own).double(), labels).numpy(), losses, budget)
            for seed, own in zip(cases.seeds, logits, strict=True)
        }
        made[name] = triage_network_loss(decisions)
    return _fit(cases, head, made, networks=True)


def _systems(
    cases: AskedCases, fit: heads.LabFit, networks: heads.LabFit, budget: float
) -> Iterator[tuple[str, int, Scores, np.ndarray]]:
    """Method, place of the seed, scores on test cases, and margin, larger = defer sooner."""
    right = list(cases.expert_right("train").values())
    validation, labels = cases.splits.validation, len(cases.splits.train)
    for place in range(len(cases.seeds)):
        held_out = fit.extra_logits["score"][place, labels:]
        temperature = fit_temperature(held_out, validation.labels.numpy())
        trained = {name: own[place] for name, own in fit.scores.items()}
        for name in ("confidence", "confidence_as_written", "triage"):
            trained[name] = trained[_at(name, budget)]
        trained["triage_network"] = networks.scores[_at("triage", budget)][place]
        for name, scores, margin in method_margins(trained, temperature, right[place]):
            yield name, place, scores, margin


def method_margins(
    trained: Mapping[str, Scores], temperature: float, expert_right: float
) -> Iterator[tuple[str, Scores, np.ndarray]]:
    """Each method, its scores, and the margin by which it defers, (N,), larger = sooner.

    trained: name -> scores, those of methods with a budget for one budget. temperature: of "score";
    expert_right: P(y = m), one number.
    """
    for name in ("softmax", "one_vs_all"):
        yield name, trained[name], margin_of_scores(trained[name])
    plain, compared = trained["score"], trained["compare_confidence"]
    yield "score", plain, score_margin(plain.logits, temperature)
    yield "selective", plain, selective_margin(plain.logits, expert_right)
    yield "compare_confidence", compared, compare_margin(compared.logits)
    for name in ("confidence", "confidence_as_written"):
        if name in trained:
            yield name, trained[name], confidence_margin(trained[name].logits, expert_right)
    yield "triage", trained["triage"], triage_margin(trained["triage_network"].logits)


def budget_point(method: str, rule: str, budget: float, seed: int, scores: Scores, margin: np.ndarray) -> BudgetPoint:
    """How often machine and expert err together where the cases of the largest margins, (N,), are deferred.

    Where the budget cuts a tie: on average over the order within it.
    """
    forced = rule == "forced" or not METHODS[method].has_cap
    deferred = share_deferred(margin, num_deferred(margin, budget, forced=forced))
    system = expected_accuracies(scores, deferred)["system"]
    assert system.value is not None  # there is at least one case
    return BudgetPoint(
        method=method,
        rule=rule,
        budget=budget,
        seed=seed,
        error=1 - system.value,
        deferred=float(deferred.mean()),
        n=system.n,
    )
