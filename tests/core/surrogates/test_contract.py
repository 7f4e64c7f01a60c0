"""What every surrogate keeps to: shapes, types, bounds, symmetries, and plain refusals of bad input."""

import pytest
import torch
from surrogate_batches import LOSSES, NAMES, SEVERAL, extreme_batch, random_batch

from l2d_core.surrogates import SURROGATES


@pytest.mark.parametrize("name", NAMES)
def test_every_surrogate_is_described_in_full(name):
    surrogate = SURROGATES[name]
    assert surrogate.name == name
    assert surrogate.title
    assert surrogate.reference
    assert surrogate.formula
    assert surrogate.caveats
    assert surrogate.estimators
    assert surrogate.is_bounded.keys() == surrogate.estimators.keys()


def test_the_surrogates_and_their_estimators_come_in_the_order_of_the_pages():
    assert NAMES == ["softmax", "one_vs_all", "asymmetric_softmax"]
    assert list(SURROGATES["softmax"].estimators) == ["odds", "proxy"]
    assert list(SURROGATES["one_vs_all"].estimators) == ["sigmoid"]
    assert list(SURROGATES["asymmetric_softmax"].estimators) == ["probability"]


@pytest.mark.parametrize("name", NAMES)
def test_options_name_the_keywords_of_the_loss_and_hold_its_defaults(name):
    surrogate = SURROGATES[name]
    cases = random_batch()
    assert torch.equal(surrogate.loss(*cases), surrogate.loss(*cases, **surrogate.options))


@pytest.mark.parametrize("num_cases", [0, 1, 9])
@pytest.mark.parametrize(("name", "num_experts"), [(name, 1) for name in NAMES] + [(name, 3) for name in SEVERAL])
def test_shapes_and_types_are_as_promised_for_any_number_of_cases(name, num_experts, num_cases):
    surrogate = SURROGATES[name]
    logits, labels, expert_correct = random_batch(num_cases, num_experts=num_experts)
    logits = logits.float()
    loss = surrogate.loss(logits, labels, expert_correct)
    assert (loss.shape, loss.dtype) == ((num_cases,), torch.float32)
    probability = surrogate.class_probability(logits, num_experts)
    assert (probability.shape, probability.dtype) == ((num_cases, 4), torch.float64)
    for estimator in surrogate.estimators.values():
        value = estimator(logits, num_experts)
        assert (value.shape, value.dtype) == ((num_cases, num_experts), torch.float64)


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_never_negative_and_each_row_stands_alone(name):
    logits, labels, expert_correct = random_batch()
    loss = SURROGATES[name].loss(logits, labels, expert_correct)
    assert (loss >= 0).all()
    alone = [
        SURROGATES[name].loss(logits[[row]], labels[[row]], expert_correct[[row]]).item() for row in range(len(logits))
    ]
    assert loss.tolist() == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_renaming_the_classes_changes_no_loss_and_no_estimate(name, options):
    surrogate = SURROGATES[name]
    logits, labels, expert_correct = random_batch()
    order = torch.tensor([2, 0, 3, 1])  # column i of the new logits is class order[i]
    renamed = torch.cat([logits[:, order], logits[:, 4:]], dim=1)
    new_labels = torch.argsort(order)[labels]
    torch.testing.assert_close(
        surrogate.loss(renamed, new_labels, expert_correct, **options),
        surrogate.loss(logits, labels, expert_correct, **options),
    )
    torch.testing.assert_close(surrogate.class_probability(renamed), surrogate.class_probability(logits)[:, order])
    for estimator in surrogate.estimators.values():
        torch.testing.assert_close(estimator(renamed), estimator(logits))


@pytest.mark.parametrize("name", SEVERAL)
def test_renaming_the_experts_renames_their_estimates(name):
    surrogate = SURROGATES[name]
    logits, labels, expert_correct = random_batch(num_experts=3)
    order = torch.tensor([2, 0, 1])
    renamed = torch.cat([logits[:, :4], logits[:, 4:][:, order]], dim=1)
    torch.testing.assert_close(
        surrogate.loss(renamed, labels, expert_correct[:, order]), surrogate.loss(logits, labels, expert_correct)
    )
    for estimator in surrogate.estimators.values():
        torch.testing.assert_close(estimator(renamed, 3), estimator(logits, 3)[:, order])


@pytest.mark.parametrize("name", NAMES)
def test_estimates_rise_with_the_score_of_the_expert(name):
    logits, _, _ = random_batch()
    raised = logits + torch.tensor([0.0, 0.0, 0.0, 0.0, 0.1])
    for estimator in SURROGATES[name].estimators.values():
        assert (estimator(raised) > estimator(logits)).all()


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_the_inputs_are_left_as_they_were(name, options):
    cases = extreme_batch()
    before = [tensor.clone() for tensor in cases]
    surrogate = SURROGATES[name]
    surrogate.loss(*cases, **options)
    surrogate.gradient(*cases, **options)
    surrogate.class_probability(cases[0])
    for estimator in surrogate.estimators.values():
        estimator(cases[0])
    assert all(torch.equal(old, new) for old, new in zip(before, cases, strict=True))


def test_labels_of_any_integer_type_give_the_same_loss():
    logits, labels, expert_correct = random_batch()
    for name in NAMES:
        expected = SURROGATES[name].loss(logits, labels, expert_correct)
        assert torch.equal(SURROGATES[name].loss(logits, labels.to(torch.uint8), expert_correct), expected)


# Bad input.


def changed(**changes):
    logits, labels, expert_correct = random_batch(num_cases=6)
    return {"logits": logits, "labels": labels, "expert_correct": expert_correct, **changes}


INDEX = torch.int64
LATE = torch.tensor([0, 1, 2, 3, 4, 0])
BAD_BATCHES = [
    ({"logits": torch.zeros(6)}, r"logits must be floating of shape \(N, K\+J\).*float32 of shape \(6,\)"),
    ({"logits": torch.zeros(6, 2)}, r"J = 1 and K >= 2, got float32 of shape \(6, 2\)"),
    ({"logits": torch.zeros(6, 5, dtype=INDEX)}, "logits must be floating .* got int64"),
    ({"logits": torch.zeros(1, 5)}, "logits must have as many rows as expert_correct, 6, got 1"),
    ({"labels": torch.zeros(6, 1, dtype=INDEX)}, r"labels must be integers of shape \(6,\), .* \(6, 1\)"),
    ({"labels": torch.zeros(1, dtype=INDEX)}, r"labels must be integers of shape \(6,\), got .* \(1,\)"),
    ({"labels": torch.zeros(6)}, "labels must be integers .* got float32"),
    ({"labels": torch.zeros(6, dtype=torch.bool)}, "labels must be integers .* got bool"),
    ({"labels": LATE}, r"labels must lie in 0\.\.3 for 4 classes, got 4 at row 4"),
    ({"labels": -LATE}, r"labels must lie in 0\.\.3 for 4 classes, got -1 at row 1"),
    ({"expert_correct": torch.ones(6, dtype=torch.bool)}, r"expert_correct must be bool .* \(6,\)"),
    ({"expert_correct": torch.ones(6, 1)}, "expert_correct must be bool .* got float32"),
    ({"expert_correct": torch.ones(6, 0, dtype=torch.bool)}, r"J >= 1, got bool of shape \(6, 0\)"),
    ({"expert_correct": torch.ones(6, 4, dtype=torch.bool)}, "J = 4 and K >= 2"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("changes", "message"), BAD_BATCHES)
def test_every_loss_refuses_a_batch_that_does_not_fit(name, changes, message):
    with pytest.raises(ValueError, match=message):
        SURROGATES[name].loss(**changed(**changes))


def test_asymmetric_softmax_refuses_a_second_expert():
    surrogate = SURROGATES["asymmetric_softmax"]
    logits, labels, expert_correct = random_batch(num_experts=2)
    message = "asymmetric_softmax is defined for 1 expert, got 2"
    with pytest.raises(ValueError, match=message):
        surrogate.loss(logits, labels, expert_correct)
    for reader in (surrogate.class_probability, surrogate.estimators["probability"]):
        with pytest.raises(ValueError, match=message):
            reader(logits, 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", NAMES)
def test_estimators_and_class_probabilities_refuse_logits_that_are_not_finite(name, value):
    logits, _, _ = random_batch()
    logits[3, 2] = value
    readers = [SURROGATES[name].class_probability, *SURROGATES[name].estimators.values()]
    for reader in readers:
        with pytest.raises(ValueError, match=rf"logits must be finite, got {value} at row 3, column 2"):
            reader(logits)


@pytest.mark.parametrize("name", SEVERAL)
def test_estimators_refuse_a_number_of_experts_that_does_not_fit(name):
    logits, _, _ = random_batch()
    readers = [SURROGATES[name].class_probability, *SURROGATES[name].estimators.values()]
    for reader in readers:
        with pytest.raises(ValueError, match="num_experts must be at least 1, got 0"):
            reader(logits, 0)
        with pytest.raises(ValueError, match="J = 4 and K >= 2"):
            reader(logits, 4)
        with pytest.raises(ValueError, match=r"got float64 of shape \(5,\)"):
            reader(logits[0])


@pytest.mark.parametrize("function", ["loss", "gradient"])
def test_bad_options_are_refused_with_what_is_allowed(function):
    cases = random_batch()
    for alpha in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"alpha must be finite and at least 0, got {alpha}"):
            getattr(SURROGATES["softmax"], function)(*cases, alpha=alpha)
    with pytest.raises(ValueError, match="phi must be one of 'logistic', 'brier'; got 'hinge'"):
        getattr(SURROGATES["one_vs_all"], function)(*cases, phi="hinge")


@pytest.mark.parametrize("name", SURROGATES)
def test_its_probabilities_decide_as_its_logits_do(name):
    logits = torch.randn(500, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 4
    probabilities = SURROGATES[name].probabilities(logits)
    assert probabilities.shape == logits.shape
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert torch.equal(defer_by_argmax(probabilities), defer_by_argmax(logits))
    assert torch.equal(probabilities[:, :-1].argmax(dim=1), logits[:, :-1].argmax(dim=1))


def defer_by_argmax(scores):
    return scores[:, -1] >= scores[:, :-1].amax(dim=1)
