"""The surrogates' losses and estimates: hand values, slow twins, and identities."""

import math

import pytest
import torch
from surrogate_batches import ONE_AND_SEVERAL, batch, random_batch
from torch.nn import functional

from l2d_core.surrogates import SURROGATES

# Hand-computed values. Logits ln 1, ln 2, ln 3 have the softmax 1/6, 2/6, 3/6.
WORKED = [[0.0, math.log(2), math.log(3)]]


@pytest.mark.parametrize(
    ("name", "options", "right", "expected"),
    [
        ("softmax", {}, True, -math.log(1 / 3) - math.log(1 / 2)),
        ("softmax", {}, False, -math.log(1 / 3)),
        ("softmax", {"alpha": 0.25}, True, -0.25 * math.log(1 / 3) - math.log(1 / 2)),
        ("softmax", {"alpha": 0.25}, False, -math.log(1 / 3)),
        ("one_vs_all", {}, True, math.log(3 / 2) + math.log(2) + math.log(4 / 3)),
        ("one_vs_all", {}, False, math.log(3 / 2) + math.log(2) + math.log(4)),
        ("one_vs_all", {"phi": "brier"}, True, 1 / 9 + 1 / 4 + 1 / 16),
        ("one_vs_all", {"phi": "brier"}, False, 1 / 9 + 1 / 4 + 9 / 16),
        ("asymmetric_softmax", {}, True, -math.log(2 / 3) - math.log(3 / 4)),
        ("asymmetric_softmax", {}, False, -math.log(2 / 3) - math.log(1 / 4)),
    ],
)
def test_losses_equal_hand_computed_values(name, options, right, expected):
    value = SURROGATES[name].loss(*batch(WORKED, 1, right), **options)
    assert value.item() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "estimator", "expected"),
    [
        ("softmax", "odds", 1.0),
        ("softmax", "proxy", 1 / 2),
        ("one_vs_all", "sigmoid", 3 / 4),
        ("asymmetric_softmax", "probability", 3 / (6 - 2)),
    ],
)
def test_estimators_equal_hand_computed_values(name, estimator, expected):
    value = SURROGATES[name].estimators[estimator](torch.tensor(WORKED, dtype=torch.float64))
    assert value.item() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("softmax", [1 / 3, 2 / 3]), ("one_vs_all", [1 / 2, 2 / 3]), ("asymmetric_softmax", [1 / 3, 2 / 3])],
)
def test_class_probabilities_equal_hand_computed_values(name, expected):
    value = SURROGATES[name].class_probability(torch.tensor(WORKED, dtype=torch.float64))
    assert value[0].tolist() == pytest.approx(expected, abs=1e-14)


# Slow twins: one case at a time, straight from the definitions.


def slow_softmax(logits, label, right, num_classes, alpha=1.0):
    total = sum(math.exp(g) for g in logits)
    value = -(alpha if any(right) else 1.0) * math.log(math.exp(logits[label]) / total)
    for j, is_right in enumerate(right):
        if is_right:
            value -= math.log(math.exp(logits[num_classes + j]) / total)
    return value


def slow_one_vs_all(logits, label, right, num_classes, phi="logistic"):
    def loss_of(z):
        return math.log(1 + math.exp(-z)) if phi == "logistic" else (1 - 1 / (1 + math.exp(-z))) ** 2

    value = loss_of(logits[label])
    value += sum(loss_of(-logits[k]) for k in range(num_classes) if k != label)
    for j, is_right in enumerate(right):
        g = logits[num_classes + j]
        value += loss_of(-g) + (loss_of(g) - loss_of(-g)) * is_right
    return value


def slow_asymmetric_softmax(logits, label, right, num_classes):
    powers = [math.exp(g) for g in logits]
    classes = powers[:num_classes]
    a_d = powers[-1] / (sum(powers) - max(classes))
    return -math.log(powers[label] / sum(classes)) - math.log(a_d if right[0] else 1 - a_d)


SLOW = {"softmax": slow_softmax, "one_vs_all": slow_one_vs_all, "asymmetric_softmax": slow_asymmetric_softmax}


@pytest.mark.parametrize("num_classes", [2, 5])
@pytest.mark.parametrize(("name", "options", "num_experts"), ONE_AND_SEVERAL)
def test_losses_equal_their_slow_twins(name, options, num_experts, num_classes):
    logits, labels, expert_correct = random_batch(num_classes=num_classes, num_experts=num_experts)
    fast = SURROGATES[name].loss(logits, labels, expert_correct, **options)
    slow = [
        SLOW[name](g, y, right, num_classes, **options)
        for g, y, right in zip(logits.tolist(), labels.tolist(), expert_correct.tolist(), strict=True)
    ]
    torch.testing.assert_close(fast, torch.tensor(slow, dtype=torch.float64), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("num_experts", [1, 3])
def test_estimators_equal_their_slow_twins(num_experts):
    logits, _, _ = random_batch(num_experts=num_experts)
    for row, g in enumerate(logits.tolist()):
        p = [math.exp(value) / sum(math.exp(other) for other in g) for value in g]
        experts = p[4:]
        twins = {
            ("softmax", "odds"): [p_j / (1 - sum(experts)) for p_j in experts],
            ("softmax", "proxy"): experts,
            ("one_vs_all", "sigmoid"): [1 / (1 + math.exp(-value)) for value in g[4:]],
        }
        for (name, estimator), expected in twins.items():
            value = SURROGATES[name].estimators[estimator](logits, num_experts)[row]
            assert value.tolist() == pytest.approx(expected, rel=1e-12)


# Identities.


@pytest.mark.parametrize("num_experts", [1, 2])
def test_softmax_is_cross_entropy_with_a_multi_hot_target(num_experts):
    logits, labels, expert_correct = random_batch(num_experts=num_experts)
    target = torch.cat([functional.one_hot(labels, 4), expert_correct], dim=1).double()
    expected = functional.cross_entropy(logits, target, reduction="none")
    torch.testing.assert_close(SURROGATES["softmax"].loss(logits, labels, expert_correct), expected)


@pytest.mark.parametrize("num_experts", [1, 2])
def test_one_vs_all_is_the_sum_of_binary_cross_entropies(num_experts):
    logits, labels, expert_correct = random_batch(num_experts=num_experts)
    target = torch.cat([functional.one_hot(labels, 4), expert_correct], dim=1).double()
    expected = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(dim=1)
    torch.testing.assert_close(SURROGATES["one_vs_all"].loss(logits, labels, expert_correct), expected)


def test_brier_one_vs_all_is_the_squared_distance_of_probabilities_to_the_target():
    logits, labels, expert_correct = random_batch()
    target = torch.cat([functional.one_hot(labels, 4), expert_correct], dim=1).double()
    expected = (torch.sigmoid(logits) - target).square().sum(dim=1)
    value = SURROGATES["one_vs_all"].loss(logits, labels, expert_correct, phi="brier")
    torch.testing.assert_close(value, expected)


def test_odds_are_the_proxy_over_one_minus_the_proxy_and_pass_1_with_it_at_one_half():
    logits, _, _ = random_batch(num_cases=400)
    odds = SURROGATES["softmax"].estimators["odds"](logits)
    proxy = SURROGATES["softmax"].estimators["proxy"](logits)
    torch.testing.assert_close(odds, proxy / (1 - proxy))
    assert torch.equal(odds > 1, proxy > 0.5)
    assert 0 < (odds > 1).sum() < len(odds)


def test_softmax_class_probability_is_the_class_share_of_what_is_not_deferred():
    logits, _, _ = random_batch(num_experts=2)
    p = torch.softmax(logits, dim=1)
    expected = p[:, :4] / (1 - p[:, 4:].sum(dim=1, keepdim=True))
    torch.testing.assert_close(SURROGATES["softmax"].class_probability(logits, 2), expected)


def test_one_vs_all_class_probabilities_need_not_sum_to_1():
    logits, _, _ = random_batch()
    sums = SURROGATES["one_vs_all"].class_probability(logits).sum(dim=1)
    assert (sums - 1).abs().max() > 0.1


def test_shifting_all_logits_alike_changes_nothing_where_a_softmax_is_taken():
    logits, labels, expert_correct = random_batch()
    for name in ("softmax", "asymmetric_softmax"):
        surrogate = SURROGATES[name]
        torch.testing.assert_close(
            surrogate.loss(logits, labels, expert_correct), surrogate.loss(logits + 3, labels, expert_correct)
        )
