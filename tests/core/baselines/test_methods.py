"""The methods that the paper compares with: the rules of their batches, their losses, and their decisions."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_lab import EXPERT, LINEAR, MLP, ROUNDING, TEST, TRAIN, clouds, logits_of, slow_logits
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from l2d_core.baselines.asked_cases import AskedCases, ask_people, ask_simulated
from l2d_core.baselines.classifier import class_confidence, class_loss, classifier_gradient, fit_temperature, sent_away
from l2d_core.baselines.confidence import confidence_loss, confidence_margin
from l2d_core.baselines.score import compare_loss, compare_margin, score_loss, score_margin, selective_margin
from l2d_core.baselines.triage import best_triage, expert_loss, triage_loss, triage_margin, triage_network_loss
from l2d_core.data import Splits
from l2d_core.lab import heads
from l2d_core.lab.setup import HeadBatch

SEEDS = (4, 7)


def batch(num_cases=9, seed=0):
    """Two seeds, three classes; rows of a training set of 20 cases."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.stack([torch.randperm(20, generator=generator)[:num_cases] for _ in SEEDS])
    logits = torch.randn(2, num_cases, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(3, (2, num_cases), generator=generator)
    return HeadBatch(logits, labels, torch.rand(2, num_cases, generator=generator) < 0.6, rows, SEEDS)


def slow_sent_away(gain, budget):
    """One case after another, the best of those that are left."""
    chosen = [False] * len(gain)
    for _ in range(math.floor(budget * len(gain) + 1e-9)):
        best = None
        for place, value in enumerate(gain):
            if not chosen[place] and value > 0 and (best is None or value > gain[best]):
                best = place
        if best is not None:
            chosen[best] = True
    return chosen


@pytest.mark.parametrize("budget", [0, 0.1, 0.29, 0.5, 0.85, 1])
def test_a_batch_sends_away_the_largest_positive_gains_and_in_a_tie_the_first(budget):
    gain = torch.randint(-2, 4, (3, 200), generator=torch.Generator().manual_seed(1)).double() / 3
    assert sent_away(gain, budget).tolist() == [slow_sent_away(row, budget) for row in gain.tolist()]


def test_no_case_without_gain_is_sent_away():
    assert not sent_away(torch.tensor([[0.0, -1.0, -0.5]]), 1).any()


def mean_over(loss, used):
    """For each seed the mean over the used cases, times the size of the batch: what the lab divides by."""
    parts = [own[mask].mean() * len(mask) for own, mask in zip(loss, used, strict=True) if mask.any()]
    return sum(parts, torch.tensor(0.0))


def check_gradient_of(slow, gradient):
    """A closed form against automatic differentiation."""
    cases = batch()
    logits = cases.logits.clone().requires_grad_()
    value = slow(replace(cases, logits=logits))
    expected = torch.autograd.grad(value, logits)[0] if value.requires_grad else torch.zeros_like(logits)
    torch.testing.assert_close(gradient(cases), expected, check_dtype=False, atol=1e-6, rtol=1e-5)


def test_the_classifiers_gradient_is_that_of_the_mean_over_the_used_cases():
    used = torch.rand(2, 9, generator=torch.Generator().manual_seed(3)) < 0.5
    check_gradient_of(lambda cases: mean_over(entropy(cases), used), lambda cases: classifier_gradient(cases, used))
    assert not classifier_gradient(batch(), torch.zeros(2, 9, dtype=torch.bool)).any()


def entropy(cases):
    return torch.stack(
        [cross_entropy(g[:, :-1], y, reduction="none") for g, y in zip(cases.logits, cases.labels, strict=True)]
    )


def slow_confidence_rule(logits, right, budget, rule):
    """Which cases of one seed's batch the classifier trains on, case by case."""
    gain = [right - max(torch.softmax(row[:-1], dim=0).tolist()) for row in logits]
    count = min(math.floor(budget * len(gain) + 1e-9), sum(value > 0 for value in gain))
    order = sorted(range(len(gain)), key=lambda place: -gain[place])
    if rule == "kept":
        return [place not in order[:count] for place in range(len(gain))]
    return [place in sorted(range(len(gain)), key=lambda place: gain[place])[:count] for place in range(len(gain))]


@pytest.mark.parametrize("rule", ["kept", "as_written"])
@pytest.mark.parametrize("budget", [0, 0.4, 1])
def test_confidence_trains_on_what_its_rule_leaves(rule, budget):
    right = {4: 0.55, 7: 0.7}

    def slow(cases):
        used = [
            slow_confidence_rule(own.detach(), right[s], budget, rule)
            for own, s in zip(cases.logits, SEEDS, strict=True)
        ]
        return mean_over(entropy(cases), torch.tensor(used))

    check_gradient_of(slow, confidence_loss(budget, right, rule=rule))


def test_as_written_confidence_trains_on_nothing_without_a_budget_and_kept_on_all():
    right = {4: 0.9, 7: 0.9}
    assert not confidence_loss(0, right, rule="as_written")(batch()).any()
    torch.testing.assert_close(confidence_loss(0, right)(batch()), classifier_gradient(batch()))
    with pytest.raises(ValueError, match="'kept', 'as_written'"):
        confidence_loss(0.5, right, rule="all")


@pytest.mark.parametrize("budget", [0, 0.3, 1])
def test_triage_leaves_out_the_cases_in_which_the_experts_loss_is_lower_by_most(budget):
    losses = expert_loss(np.linspace(0.05, 1, 20))

    def slow(cases):
        used = []
        for own, labels, rows in zip(cases.logits.detach(), cases.labels, cases.rows, strict=True):
            machine = [-math.log(torch.softmax(g[:-1], dim=0)[y]) for g, y in zip(own, labels, strict=True)]
            gain = [mine - losses[row] for mine, row in zip(machine, rows.tolist(), strict=True)]
            used.append([not away for away in slow_sent_away(gain, budget)])
        return mean_over(entropy(cases), torch.tensor(used))

    check_gradient_of(slow, triage_loss(budget, losses))


def test_the_best_triage_is_that_of_the_losses():
    # gains 7/8, -1/8, 1/2, 1/2: floor(0.5 * 4) = 2 of the 3 that gain, the first of the two equal ones.
    decisions = best_triage(np.array([1.0, 0.125, 0.75, 1.0]), np.array([0.125, 0.25, 0.25, 0.5]), 0.5)
    assert decisions.tolist() == [True, False, True, False]
    assert best_triage(np.array([1.0, 0.1]), np.array([0.1, 0.2]), 1.0).tolist() == [True, False]


def test_an_expert_who_is_never_right_has_a_large_loss_and_no_infinite_one():
    np.testing.assert_allclose(expert_loss([1.0, 0.5, 0.0]), [0, math.log(2), math.log(1e6)])


def test_the_triage_network_learns_the_decisions_of_its_own_seed():
    generator = np.random.default_rng(0)
    decisions = {seed: generator.random(20) < 0.5 for seed in SEEDS}

    def slow(cases):
        targets = torch.tensor(
            np.stack([decisions[s][rows] for s, rows in zip(SEEDS, cases.rows.numpy(), strict=True)])
        )
        return binary_cross_entropy_with_logits(cases.logits[..., -1], targets.double(), reduction="sum")

    check_gradient_of(slow, triage_network_loss(decisions))


def test_compare_confidence_learns_the_classes_and_the_expert_side_by_side():
    def slow(cases):
        right = cases.correct.double()
        return entropy(cases).sum() + binary_cross_entropy_with_logits(cases.logits[..., -1], right, reduction="sum")

    check_gradient_of(slow, compare_loss())


def test_a_temperature_never_changes_the_class_and_is_found_where_logits_are_too_large():
    generator = np.random.default_rng(0)
    true = generator.normal(size=(4000, 4))
    probability = np.exp(true[:, :3]) / np.exp(true[:, :3]).sum(axis=1, keepdims=True)
    labels = (generator.random(4000)[:, None] > probability.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(3 * true, labels) == pytest.approx(3, rel=0.1)
    for temperature in (0.05, 1.0, 20.0):
        scaled = true[:, :3] / temperature
        assert (scaled.argmax(axis=1) == true[:, :3].argmax(axis=1)).all()
        expected = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        np.testing.assert_allclose(class_confidence(true, temperature), (expected / expected.sum(1)[:, None]).max(1))


def test_margins_in_numbers():
    even, sure = [0.0, 0.0, math.log(3)], [math.log(3), 0.0, -math.log(3)]  # confidence 1/2 and 3/4
    logits = np.array([even, sure])
    np.testing.assert_allclose(score_margin(logits, 1.0), [-0.5, -0.75])
    np.testing.assert_allclose(selective_margin(logits, 0.6), [0.1, -0.15])
    np.testing.assert_allclose(confidence_margin(logits, 0.6), [0.1, -0.15])
    np.testing.assert_allclose(compare_margin(logits), [0.25, -0.5])  # sigmoid(ln 3) = 3/4, sigmoid(-ln 3) = 1/4
    np.testing.assert_allclose(triage_margin(logits), [0.25, -0.25])
    np.testing.assert_allclose(class_loss(torch.from_numpy(logits), torch.tensor([0, 1])), np.log([2, 4]))


def slow_classifier(train, test, seed, config):
    """The K class logits of a head of the lab, trained by automatic differentiation on the cross-entropy alone."""
    return slow_logits(
        train, test, seed, config, lambda logits, rows: cross_entropy(logits[:, :-1], train.labels[rows])
    )[:, :-1]


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=["linear", "mlp"])
def test_the_lab_trains_a_loss_of_ones_own_as_the_slow_way_does_and_surrogates_beside_it_as_without(config):
    settings = {"seeds": (0, 1), "config": config}
    both = heads.fit(TRAIN, TEST, EXPERT, surrogates=("softmax", "score"), losses={"score": score_loss()}, **settings)
    alone = heads.fit(TRAIN, TEST, EXPERT, surrogates=("softmax",), **settings)
    np.testing.assert_allclose(logits_of(both), logits_of(alone), atol=ROUNDING)
    for seed in (0, 1):
        own = logits_of(both, "score")[seed][:, :-1]
        np.testing.assert_allclose(own, slow_classifier(TRAIN, TEST, seed, config), atol=ROUNDING)
    assert both.scores["score"][0].surrogate == "score"


def test_a_loss_is_told_which_training_cases_it_sees():
    asked = ask_simulated(Splits(TRAIN, TEST, TEST), EXPERT, (0, 1))
    seen = []

    def look(cases):
        for seed, labels, correct, rows in zip(cases.seeds, cases.labels, cases.correct, cases.rows, strict=True):
            answers = torch.from_numpy(asked.answers["train"][seed])[rows]
            seen.append(torch.equal(labels, TRAIN.labels[rows]) and torch.equal(correct, answers == labels))
        return torch.zeros_like(cases.logits)

    heads.fit(TRAIN, TEST, EXPERT, surrogates=("mine",), losses={"mine": look}, seeds=(0, 1), config=LINEAR)
    assert len(seen) > 10
    assert all(seen)


def test_a_loss_needs_a_name_of_its_own():
    with pytest.raises(ValueError, match="names of their own"):
        heads.fit(TRAIN, TEST, EXPERT, surrogates=("softmax",), losses={"softmax": score_loss()})
    with pytest.raises(ValueError, match=r"asymmetric_softmax.*score"):
        heads.fit(TRAIN, TEST, EXPERT, surrogates=("scores",), losses={"score": score_loss()})


def test_simulated_answers_are_those_that_the_lab_draws():
    asked = ask_simulated(Splits(TRAIN, TEST, TEST), EXPERT, (0, 1))
    fit = heads.fit(TRAIN, TEST, EXPERT, seeds=(0, 1), config=LINEAR)
    for place in (0, 1):
        assert (fit.scores["softmax"][place].answers[:, 0] == asked.answers["test"][place]).all()
    recorded = heads.fit(TRAIN, clouds(20, seed=1), None, people=by_place(asked), seeds=(0, 1), config=LINEAR)
    np.testing.assert_allclose(logits_of(recorded), logits_of(fit), atol=ROUNDING)


def by_place(asked):
    """The answers by how many cases are asked for: the test cases of `clouds` have the names of training cases."""
    return lambda ids, seed: asked.answers["train" if len(ids) == len(TRAIN) else "test"][asked.seeds.index(seed)]


def test_people_are_asked_by_case_and_seed_and_their_accuracy_is_one_number_a_seed():
    part = replace(TEST, ids=[f"test {row}" for row in range(len(TEST))])
    held_out = replace(TEST, ids=[f"held out {row}" for row in range(len(TEST))])
    splits = Splits(TRAIN, held_out, part)
    asked = ask_people(
        splits, lambda ids, seed: np.full(len(ids), seed), lambda ids, labels: np.where(labels == 0, 0.9, 0.2), (0, 2)
    )
    assert asked.people()(part.ids[:3], 2).tolist() == [2, 2, 2]
    labels = TRAIN.labels.numpy()
    assert asked.expert_right("train") == pytest.approx({0: (labels == 0).mean(), 2: (labels == 2).mean()})
    assert set(asked.expert_probability) == {0.9, 0.2}
    with pytest.raises(ValueError, match="expert_probability"):
        AskedCases(splits, (0, 2), asked.answers, np.array([0.5]))
