"""Minimise each surrogate's population risk and compare the decision and the estimate with Bayes.

A population is one x: P(y|x), and P(m_j = y | x, y) for each class and expert, experts independent given y.
The Bayes rule asks the best expert where P(m=y|x) >= max_y P(y|x), and else names the likeliest class.
"""

import itertools

import pytest
import torch
from surrogate_batches import SEVERAL

from l2d_core.surrogates import SURROGATES
from l2d_core.surrogates.one_vs_all import PHIS

NUM_POPULATIONS = 54
CONSISTENT = [
    *((name, {}) for name, surrogate in SURROGATES.items() if surrogate.is_consistent),
    *(("one_vs_all", {"phi": phi}) for phi in PHIS),
]


def random_populations(num_classes=3, num_experts=1, seed=0):
    """P(y|x) (R, K) and P(m_j = y | x, y) (R, K, J); the best choice leads the second best by 0.01."""
    generator = torch.Generator().manual_seed(seed)
    draw = {"generator": generator, "dtype": torch.float64}
    class_probability = torch.rand(4 * NUM_POPULATIONS, num_classes, **draw) + 0.05
    class_probability /= class_probability.sum(dim=1, keepdim=True)
    recall = torch.rand(4 * NUM_POPULATIONS, num_classes, num_experts, **draw)
    choices = torch.cat([class_probability, expert_probability(class_probability, recall)], dim=1)
    best, second = choices.topk(2, dim=1).values.T
    clear = best - second > 0.01
    assert clear.sum() >= NUM_POPULATIONS
    return class_probability[clear][:NUM_POPULATIONS], recall[clear][:NUM_POPULATIONS]


def expert_probability(class_probability, recall):
    """P(m_j = y | x) = sum_y P(y|x) P(m_j = y | x, y), (R, J)."""
    return (class_probability[:, :, None] * recall).sum(dim=1)


def population_risk(loss, logits, class_probability, recall):
    """The expected loss at each x, (R,): a sum over the classes and over which experts are right."""
    risk = torch.zeros(len(logits), dtype=torch.float64)
    num_classes, num_experts = recall.shape[1:]
    for label in range(num_classes):
        labels = torch.full((len(logits),), label)
        for right in itertools.product([True, False], repeat=num_experts):
            right = torch.tensor(right).expand(len(logits), num_experts)
            chance = torch.where(right, recall[:, label], 1 - recall[:, label]).prod(dim=1)
            risk = risk + class_probability[:, label] * chance * loss(logits, labels, right)
    return risk


def minimiser(name, options, class_probability, recall):
    """Logits (R, K+J) that minimise the population risk at each x, found from a random start."""
    generator = torch.Generator().manual_seed(1)
    width = recall.shape[1] + recall.shape[2]
    logits = 0.1 * torch.randn(len(recall), width, generator=generator, dtype=torch.float64)
    logits.requires_grad_()
    search = torch.optim.LBFGS(
        [logits], max_iter=2000, history_size=50, tolerance_grad=1e-9, tolerance_change=0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def total():
        search.zero_grad()
        value = population_risk(
            lambda *case: SURROGATES[name].loss(*case, **options), logits, class_probability, recall
        ).sum()
        value.backward()
        return value

    search.step(total)
    assert logits.grad.abs().max() < 1e-6, "the search for the minimiser did not end at one"
    return logits.detach()


def decision(choices, num_classes):
    """The best column; an expert wins a tie with a class, as in the paper."""
    best_class, best_expert = choices[:, :num_classes].max(dim=1), choices[:, num_classes:].max(dim=1)
    defers = best_expert.values >= best_class.values
    return torch.where(defers, num_classes + best_expert.indices, best_class.indices)


def bayes_decision(class_probability, recall):
    choices = torch.cat([class_probability, expert_probability(class_probability, recall)], dim=1)
    return decision(choices, class_probability.shape[1])


def assert_close(value, expected):
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("name", "options"), CONSISTENT)
def test_the_minimiser_decides_as_bayes_and_its_estimates_are_the_probabilities(name, options):
    class_probability, recall = random_populations()
    surrogate = SURROGATES[name]
    logits = minimiser(name, options, class_probability, recall)
    bayes = bayes_decision(class_probability, recall)
    assert 10 < (bayes == 3).sum() < NUM_POPULATIONS - 10
    assert torch.equal(decision(logits, 3), bayes)
    estimator = next(iter(surrogate.estimators.values()))
    assert_close(estimator(logits), expert_probability(class_probability, recall))
    assert_close(surrogate.class_probability(logits), class_probability)


@pytest.mark.parametrize("name", SEVERAL)
def test_with_two_experts_the_minimiser_asks_the_right_one_and_estimates_both(name):
    class_probability, recall = random_populations(num_experts=2)
    surrogate = SURROGATES[name]
    logits = minimiser(name, {}, class_probability, recall)
    bayes = bayes_decision(class_probability, recall)
    assert set(bayes.tolist()) == {0, 1, 2, 3, 4}
    assert torch.equal(decision(logits, 3), bayes)
    estimator = next(iter(surrogate.estimators.values()))
    assert_close(estimator(logits, 2), expert_probability(class_probability, recall))


def test_the_proxy_is_p_over_1_plus_p_at_the_optimum_so_never_calibrated():
    class_probability, recall = random_populations()
    logits = minimiser("softmax", {}, class_probability, recall)
    truth = expert_probability(class_probability, recall)
    proxy = SURROGATES["softmax"].estimators["proxy"](logits)
    assert_close(proxy, truth / (1 + truth))
    assert (proxy < 0.5).all()


def test_a_perfect_expert_and_two_equal_classes_give_the_papers_worked_example():
    class_probability, recall = torch.tensor([[0.5, 0.5]]).double(), torch.ones(1, 2, 1).double()
    logits = minimiser("softmax", {}, class_probability, recall)
    assert_close(torch.softmax(logits, dim=1), torch.tensor([[0.25, 0.25, 0.5]]).double())
    assert_close(SURROGATES["softmax"].estimators["odds"](logits), torch.ones(1, 1).double())


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_softmax_with_an_alpha_other_than_1_is_not_consistent(alpha):
    class_probability, recall = random_populations()
    recall = recall.clamp(max=0.95)  # at alpha = 0, a class on which the expert is always right gets no weight
    logits = minimiser("softmax", {"alpha": alpha}, class_probability, recall)
    wrong = decision(logits, 3) != bayes_decision(class_probability, recall)
    assert wrong.sum() >= 3
    bias = SURROGATES["softmax"].estimators["odds"](logits) - expert_probability(class_probability, recall)
    assert (bias < 0).all() if alpha > 1 else (bias > 0).all()


def test_with_alpha_one_half_an_equal_expert_is_asked_where_bayes_predicts():
    """Class weights .6 (.5 + .5 alpha) = .45 and .3 against .5 of the expert; Bayes has .6 against .5."""
    class_probability, recall = torch.tensor([[0.6, 0.4]]).double(), torch.full((1, 2, 1), 0.5).double()
    logits = minimiser("softmax", {"alpha": 0.5}, class_probability, recall)
    assert_close(torch.softmax(logits, dim=1), torch.tensor([[0.45, 0.3, 0.5]]).double() / 1.25)
    assert bayes_decision(class_probability, recall).item() == 0
    assert decision(logits, 2).item() == 2


@pytest.mark.parametrize("phi", PHIS)
def test_each_phi_is_a_strictly_proper_loss_with_the_logistic_link(phi):
    """P phi(z) + (1 - P) phi(-z) is least at z = logit P, and at no other point of a fine grid."""
    grid = torch.linspace(-12, 12, 4801, dtype=torch.float64)
    for step in range(1, 20):
        chance = step / 20
        risk = chance * PHIS[phi](grid) + (1 - chance) * PHIS[phi](-grid)
        best = grid[risk.argmin()].item()
        assert best == pytest.approx(torch.logit(torch.tensor(chance).double()).item(), abs=0.0051)
