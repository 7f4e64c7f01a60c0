"""The surrogates' gradients, and logits of any size: all finite, all right."""

import math

import pytest
import torch
from surrogate_batches import ESTIMATORS, LOSSES, ONE_AND_SEVERAL, batch, extreme_batch, random_batch

from l2d_core.surrogates import SURROGATES
from l2d_core.surrogates.softmax import MAX_LOG_ODDS


@pytest.mark.parametrize(("name", "options", "num_experts"), ONE_AND_SEVERAL)
def test_gradients_equal_finite_differences(name, options, num_experts):
    logits, labels, expert_correct = random_batch(num_cases=12, num_experts=num_experts)
    logits.requires_grad_()
    loss = SURROGATES[name].loss
    assert torch.autograd.gradcheck(lambda g: loss(g, labels, expert_correct, **options), logits)


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_losses_and_gradients_in_float32_are_finite_and_right_at_any_size(name, options):
    logits, labels, expert_correct = extreme_batch()
    results = {}
    for dtype in (torch.float32, torch.float64):
        leaf = logits.to(dtype).requires_grad_()
        loss = SURROGATES[name].loss(leaf, labels, expert_correct, **options)
        loss.sum().backward()
        assert loss.dtype == dtype
        assert torch.isfinite(loss).all()
        assert torch.isfinite(leaf.grad).all()
        results[dtype] = (loss.detach().double(), leaf.grad.double())
    tied = (logits[:, 0] - logits[:, 1]).abs() < 1e-6  # the better of two classes may differ by rounding
    torch.testing.assert_close(results[torch.float32][0], results[torch.float64][0], rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(results[torch.float32][1][~tied], results[torch.float64][1][~tied], rtol=1e-5, atol=1e-5)


def gradient_by_autograd(name, logits, labels, expert_correct, options):
    leaf = logits.clone().requires_grad_()
    SURROGATES[name].loss(leaf, labels, expert_correct, **options).sum().backward()
    return leaf.grad


@pytest.mark.parametrize("num_classes", [2, 5])
@pytest.mark.parametrize(("name", "options", "num_experts"), ONE_AND_SEVERAL)
def test_the_closed_form_gradient_is_the_gradient_of_the_loss(name, options, num_experts, num_classes):
    cases = random_batch(num_classes=num_classes, num_experts=num_experts)
    closed = SURROGATES[name].gradient(*cases, **options)
    torch.testing.assert_close(closed, gradient_by_autograd(name, *cases, options), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_the_closed_form_gradient_takes_many_batches_at_once_in_any_memory_layout(name, options):
    logits, labels, expert_correct = random_batch(num_cases=24)
    flat = SURROGATES[name].gradient(logits, labels, expert_correct, **options)
    classes_first = logits.T.contiguous().T
    stacked = SURROGATES[name].gradient(
        classes_first.unflatten(0, (2, 12)),
        labels.unflatten(0, (2, 12)),
        expert_correct.unflatten(0, (2, 12)),
        **options,
    )
    torch.testing.assert_close(stacked.flatten(0, 1), flat, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_the_closed_form_gradient_in_float32_is_right_at_any_size(name, options):
    logits, labels, expert_correct = extreme_batch()
    tied = (logits[:, 0] - logits[:, 1]).abs() < 1e-6  # the better of two classes may differ by rounding
    closed = SURROGATES[name].gradient(logits.float(), labels, expert_correct, **options)
    expected = gradient_by_autograd(name, logits, labels, expert_correct, options)
    assert torch.isfinite(closed).all()
    torch.testing.assert_close(closed[~tied].double(), expected[~tied], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "margin_logits", "right", "expected"),
    [
        ("softmax", [0.0, 0.0, -1e4], True, math.log(2) + 1e4 + math.log(2)),
        ("one_vs_all", [0.0, 0.0, -1e4], True, 2 * math.log(2) + 1e4),
        ("asymmetric_softmax", [0.0, 0.0, -1e4], True, math.log(2) + 1e4),
        ("asymmetric_softmax", [0.0, 0.0, 1e4], False, math.log(2) + 1e4),
        ("asymmetric_softmax", [1e4, -1e4, 1e4], False, 2e4),
    ],
)
def test_a_confident_error_costs_as_many_nats_as_its_margin(name, margin_logits, right, expected):
    logits, labels, expert_correct = batch([margin_logits], 0, right)
    assert SURROGATES[name].loss(logits.float(), labels, expert_correct).item() == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_half_precision_logits_are_lifted_to_float32_also_under_autocast(name, options, dtype):
    logits, labels, expert_correct = random_batch(scale=1e4)
    half = logits.clamp(-6e4, 6e4).to(dtype).requires_grad_()
    expected = SURROGATES[name].loss(half.detach().float(), labels, expert_correct, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = SURROGATES[name].loss(half, labels, expert_correct, **options)
    loss.mean().backward()
    assert torch.equal(loss.detach(), expected)
    assert torch.isfinite(half.grad).all()


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_a_nan_logit_gives_a_nan_loss_in_its_own_row_only(name, options):
    logits, labels, expert_correct = random_batch(num_cases=3)
    labels[:], expert_correct[:] = 0, True
    logits[1, 0] = float("nan")
    loss = SURROGATES[name].loss(logits, labels, expert_correct, **options)
    assert torch.isnan(loss).tolist() == [False, True, False]


@pytest.mark.parametrize("num_classes", [2, 7])
@pytest.mark.parametrize(("name", "estimator"), ESTIMATORS)
def test_estimates_stay_finite_up_to_logits_of_500(name, estimator, num_classes):
    signs = torch.cartesian_prod(*[torch.tensor([-500.0, 0.0, 500.0])] * 3)
    logits = torch.cat([signs[:, :1].expand(-1, num_classes - 1), signs[:, 1:]], dim=1)
    value = SURROGATES[name].estimators[estimator](logits)
    assert torch.isfinite(value).all()
    assert (value >= 0).all()
    assert (value <= 1).all() == SURROGATES[name].is_bounded[estimator]


def test_odds_are_exact_far_above_1_and_saturate_near_the_largest_float64():
    odds = SURROGATES["softmax"].estimators["odds"]
    logits = torch.tensor([[0.0, -1000.0, 300.0], [-500.0, -500.0, 500.0], [500.0, 500.0, -500.0]])
    values = odds(logits)[:, 0].tolist()
    assert values[0] == pytest.approx(math.exp(300), rel=1e-12)
    assert values[1] == pytest.approx(math.exp(MAX_LOG_ODDS), rel=1e-9)
    assert values[2] == 0.0
