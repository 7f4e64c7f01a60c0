"""The live lab's engine at its limits: small data, fits that are dropped or go wrong, arguments that do not fit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_lab import ALL, CLASSES, EXPERT, LINEAR, MLP, TEST, clouds, fit, logits_of, slow_fit, workers

from l2d_core.data import DeferralData
from l2d_core.evaluation.probabilities import clip_probability, expert_probability
from l2d_core.experts.simulated import per_class
from l2d_core.lab import heads
from l2d_core.lab.heads import FitDropped

# Small and lopsided data.


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_one_training_case_and_one_test_case_are_enough(config):
    result = fit(train=clouds(1), test=clouds(1, seed=1), surrogates=ALL, config=config)
    for name in ALL:
        twin = slow_fit(clouds(1), clouds(1, seed=1), EXPERT, name, 0, config)
        np.testing.assert_allclose(logits_of(result, name)[0], twin, rtol=0, atol=1e-4)


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_one_class_alone_in_the_training_cases_is_learned_and_the_logits_stay_finite(config):
    only = clouds(labels=torch.full((40,), 2))
    result = fit(train=only, test=only, surrogates=ALL, config=replace(config, epochs=30))
    for name in ALL:
        logits = logits_of(result, name)
        assert np.isfinite(logits).all()
        assert (logits[:, :, :3].argmax(axis=2) == 2).all()


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
@pytest.mark.parametrize("accuracy", [1.0, 0.0])
def test_an_expert_who_is_always_or_never_right_is_soon_known_as_such(accuracy, config):
    train = clouds(200)
    config = replace(config, epochs=30, learning_rate=0.03)
    result = fit(train=train, test=train, expert=per_class([accuracy] * 3), surrogates=ALL, config=config)
    for name in ALL:
        for scores in result.scores[name]:
            assert clip_probability(expert_probability(scores)).mean() == pytest.approx(accuracy, abs=0.25)


# Progress, and an end before the end.

ENDLESS = replace(LINEAR, epochs=300_000, batch_size=43)  # minutes, so that one that does not stop is seen


def test_progress_rises_from_0_to_1(monkeypatch):
    monkeypatch.setattr(heads, "PROGRESS_SECONDS", 0.002)
    seen = []
    fit(config=replace(LINEAR, epochs=400), on_progress=seen.append)
    assert len(set(seen)) > 3
    assert seen == sorted(seen)
    assert 0 <= seen[0] < seen[-1] <= 1


@pytest.mark.parametrize("answer", [None, True, 0])
def test_only_false_stops_a_fit(answer, monkeypatch):
    monkeypatch.setattr(heads, "PROGRESS_SECONDS", 0.002)
    asked = []

    def go_on(share):
        asked.append(share)
        return answer

    result = fit(config=replace(LINEAR, epochs=60), on_progress=go_on)
    assert asked
    np.testing.assert_array_equal(logits_of(result), logits_of(fit(config=replace(LINEAR, epochs=60))))


def test_a_progress_call_that_returns_false_drops_the_fit_and_frees_its_threads():
    for _ in range(3):
        with pytest.raises(FitDropped):
            fit(config=ENDLESS, seeds=range(8), on_progress=lambda share: False)
    assert logits_of(fit()).shape == (2, 20, 4)  # the threads are free for it


class PageLeft(BaseException):
    """Not an Exception, like what ends a page's run."""


@pytest.mark.parametrize("problem", [PageLeft("gone"), KeyError("here")], ids=["base exception", "exception"])
def test_what_a_progress_call_raises_passes_through_and_stops_the_fit(problem):
    def leave(_share):
        raise problem

    with pytest.raises(type(problem)) as raised:
        fit(config=ENDLESS, on_progress=leave)
    assert raised.value is problem
    assert logits_of(fit()).shape == (2, 20, 4)


def test_a_fit_that_waits_for_a_busy_pool_can_be_dropped_too():
    def drop_another_first(_share):
        with pytest.raises(FitDropped):
            fit(on_progress=lambda share: False)
        return False

    with workers(1), pytest.raises(FitDropped):
        fit(config=ENDLESS, on_progress=drop_another_first)


def test_a_rate_that_diverges_says_what_to_lower():
    with workers(1), pytest.raises(ValueError, match=r"training diverged.*not finite.*lower learning_rate"):
        fit(config=replace(LINEAR, learning_rate=1e37))


def test_the_error_of_one_thread_is_what_the_caller_gets_though_the_others_were_stopped(monkeypatch):
    def part(setup, seeds, _report):
        if seeds == (1,):
            raise ValueError("seed 1 went wrong")
        setup.stop.wait(5)
        raise FitDropped

    monkeypatch.setattr(heads, "_fit_seeds", part)
    with workers(2), pytest.raises(ValueError, match="seed 1 went wrong"):
        fit(config=replace(LINEAR, kind="mlp"))


# What is refused.

OTHER_WIDTH = clouds(20, num_inputs=4)
FLAT = DeferralData.unasked(torch.zeros(20), TEST.labels, TEST.ids, CLASSES)
OTHER_NAMES = replace(TEST, class_names=("a", "b", "C"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": ()}, "seeds and surrogates must not be empty, got 0 and 2"),
        ({"surrogates": ()}, "seeds and surrogates must not be empty, got 2 and 0"),
        ({"surrogates": ("softmax", "softmx")}, "surrogates must be one of 'softmax', 'one_vs_all'.*got 'softmx'"),
        ({"test": OTHER_WIDTH}, r"train.inputs and test.inputs must be \(N, D\).*got \(43, 11\) and \(20, 4\)"),
        ({"train": FLAT, "test": FLAT}, r"train.inputs and test.inputs must be \(N, D\).*got \(20,\) and \(20,\)"),
        ({"test": OTHER_NAMES}, r"train and test must share class_names.*'c'.*'C'"),
        ({"seeds": (0, -1)}, "seed must be at least 0, got -1"),
        ({"expert": torch.ones(3, 3)}, "confusion must sum to 1 in each row, got 3 in row 0"),
        ({"expert": torch.eye(3)[:2]}, r"confusion must be a square \(K, K\) matrix, got shape \(2, 3\)"),
        ({"options": {"softmax": {"alpha": -1.0}}}, "alpha must be finite and at least 0, got -1"),
        ({"options": {"one_vs_all": {"phi": "hinge"}}}, "phi must be one of 'logistic', 'brier'; got 'hinge'"),
        ({"expert": per_class([1.0] * 4)}, "confusion must.*3"),
        ({"expert": per_class([0.5] * 2)}, "confusion must.*3"),
        ({"extra_inputs": torch.zeros(4, 9)}, "extra_inputs must.*11"),
        ({"options": {"sofmax": {"alpha": 0.5}}}, "options must.*sofmax"),
        ({"options": {"softmax": {"alfa": 0.5}}}, "softmax.*alpha.*alfa"),
        ({"surrogates": ("softmax", "softmax")}, "surrogates must.*once"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_bad_argument_is_named_with_its_rule_and_the_offender(change, message):
    with workers(1), pytest.raises(ValueError, match=message):
        fit(**change)
