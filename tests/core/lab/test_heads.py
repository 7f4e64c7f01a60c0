"""The live lab's engine: against a slow twin that trains one head at a time, and what a seed decides."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_lab import (
    ALL,
    CLASSES,
    EXPERT,
    LINEAR,
    MLP,
    ROUNDING,
    TEST,
    TRAIN,
    fit,
    logits_of,
    slow_fit,
    slow_logits,
    workers,
)

from l2d_core.common.seeds import torch_generator
from l2d_core.experts.simulated import sample_answers
from l2d_core.surrogates import SURROGATES


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_all_surrogates_and_seeds_at_once_train_as_a_slow_twin_trains_each(config):
    result = fit(surrogates=ALL, seeds=(3, 0, 7), config=config)
    for name in ALL:
        twins = [slow_fit(TRAIN, TEST, EXPERT, name, seed, config) for seed in (3, 0, 7)]
        np.testing.assert_allclose(logits_of(result, name), np.stack(twins), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": 0.02},
        {"weight_decay": 0.5},
        {"epochs": 1},
        {"batch_size": 1},
        {"batch_size": 43},
        {"batch_size": 1000},
    ],
    ids=str,
)
@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_every_setting_of_the_head_means_the_same_to_the_slow_twin(config, change):
    config = replace(config, **change)
    result = fit(surrogates=("one_vs_all",), seeds=(5,), config=config)
    twin = slow_fit(TRAIN, TEST, EXPERT, "one_vs_all", 5, config)
    np.testing.assert_allclose(logits_of(result, "one_vs_all")[0], twin, rtol=0, atol=1e-4)


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_bfloat16_trains_the_same_heads_but_for_its_rounding_and_scores_in_float32(config):
    exact, rounded = (fit(surrogates=ALL, config=replace(config, precision=one)) for one in ("float32", "bfloat16"))
    for name in ALL:
        difference = np.abs(logits_of(exact, name) - logits_of(rounded, name)).max()
        assert 0 < difference < 0.03 * np.abs(logits_of(exact, name)).max()
        assert logits_of(rounded, name).dtype == np.float32


@pytest.mark.parametrize(
    ("surrogate", "options"),
    [("softmax", {"alpha": 0.0}), ("softmax", {"alpha": 0.4}), ("one_vs_all", {"phi": "brier"})],
)
def test_options_reach_the_loss_that_they_are_for(surrogate, options):
    result = fit(options={surrogate: options})
    plain = fit()
    for seed in (0, 1):
        twin = slow_fit(TRAIN, TEST, EXPERT, surrogate, seed, LINEAR, options=options)
        np.testing.assert_allclose(logits_of(result, surrogate)[seed], twin, rtol=0, atol=1e-4)
    assert np.abs(logits_of(result, surrogate) - logits_of(plain, surrogate)).max() > 0.01
    other = {"softmax": "one_vs_all", "one_vs_all": "softmax"}[surrogate]
    np.testing.assert_array_equal(logits_of(result, other), logits_of(plain, other))


def test_recorded_answers_take_the_place_of_drawn_ones():
    def people(ids, seed):
        data, purpose = (TRAIN, "answers") if list(ids) == list(TRAIN.ids) else (TEST, "test answers")
        return sample_answers(EXPERT, data.labels, generator=torch_generator(seed, purpose)).numpy()

    drawn, recorded = fit(surrogates=ALL), fit(expert=None, people=people, surrogates=ALL)
    for name in ALL:
        np.testing.assert_array_equal(logits_of(recorded, name), logits_of(drawn, name))
        for one, other in zip(recorded.scores[name], drawn.scores[name], strict=True):
            np.testing.assert_array_equal(one.answers, other.answers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"people": lambda ids, seed: ids}, "either a confusion or people"),
        ({"expert": None}, "either a confusion or people"),
        ({"expert": None, "people": lambda ids, seed: ids, "redraw_answers": True}, "redraw_answers needs a confusion"),
        ({"expert": None, "people": lambda ids, seed: ids, "random_labels": True}, "random_labels need a confusion"),
    ],
)
def test_an_expert_is_one_or_the_other(change, message):
    with pytest.raises(ValueError, match=message):
        fit(**change)


@pytest.mark.parametrize("seed", [0, 1])
def test_answers_can_be_drawn_anew_in_each_epoch_after_the_first(seed):
    steps, per_epoch = itertools.count(), math.ceil(len(TRAIN) / LINEAR.batch_size)

    def loss_of(logits, rows):
        epoch = next(steps) // per_epoch
        purpose = f"answers of epoch {epoch}" if epoch else "answers"
        said = sample_answers(EXPERT, TRAIN.labels, generator=torch_generator(seed, purpose))
        right = (said == TRAIN.labels)[:, None]
        return SURROGATES["softmax"].loss(logits, TRAIN.labels[rows], right[rows]).mean()

    result = fit(redraw_answers=True)
    twin = slow_logits(TRAIN, TEST, seed, LINEAR, loss_of)
    np.testing.assert_allclose(logits_of(result)[seed], twin, rtol=0, atol=1e-4)
    assert np.abs(logits_of(fit())[seed] - twin).max() > 0.01


def test_random_labels_are_drawn_anew_for_each_seed_and_the_expert_answers_by_them():
    result = fit(random_labels=True)
    for seed in (0, 1):
        twin = slow_fit(TRAIN, TEST, EXPERT, "softmax", seed, LINEAR, random_labels=True)
        np.testing.assert_allclose(logits_of(result)[seed], twin, rtol=0, atol=1e-4)


def test_with_random_labels_the_true_ones_train_nothing_but_still_score_the_test():
    shifted = replace(TRAIN, labels=(TRAIN.labels + 1) % 3)
    np.testing.assert_array_equal(logits_of(fit(random_labels=True)), logits_of(fit(train=shifted, random_labels=True)))
    assert fit(random_labels=True).scores["softmax"][0].labels.tolist() == TEST.labels.tolist()
    assert np.abs(logits_of(fit()) - logits_of(fit(train=shifted))).max() > 0.1


# What a fit gives.


def test_scores_hold_the_test_cases_in_order_with_answers_that_each_seed_draws_once():
    result = fit(surrogates=ALL, seeds=(4, 2))
    assert list(result.scores) == list(ALL)
    assert result.seeds == (4, 2)
    assert result.extra_logits == {}
    for place, seed in enumerate((4, 2)):
        drawn = sample_answers(EXPERT, TEST.labels, generator=torch_generator(seed, "test answers"))
        for name in ALL:
            scores = result.scores[name][place]
            assert scores.surrogate == name
            assert scores.class_names == CLASSES
            assert scores.ids.tolist() == list(TEST.ids)
            assert scores.labels.tolist() == TEST.labels.tolist()
            assert scores.answers.tolist() == drawn[:, None].tolist()


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_extra_points_get_the_logits_that_they_would_get_as_test_cases(config):
    result = fit(surrogates=ALL, seeds=range(3), config=config, extra_inputs=TEST.inputs)
    for name in ALL:
        assert result.extra_logits[name].shape == (3, 20, 4)
        np.testing.assert_allclose(result.extra_logits[name], logits_of(result, name), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_the_returned_layers_give_the_logits_of_the_scores(config):
    result = fit(surrogates=ALL, seeds=range(3), config=config)
    for name in ALL:
        first, *last = result.layers[name]
        values = TEST.inputs.numpy() @ first.weight.transpose(0, 2, 1) + first.bias[:, None]
        for layer in last:
            values = np.maximum(values, 0) @ layer.weight.transpose(0, 2, 1) + layer.bias[:, None]
        np.testing.assert_allclose(values, logits_of(result, name), rtol=0, atol=ROUNDING)


def test_a_fit_leaves_its_data_and_the_global_generators_alone():
    before, state, numpy_state = TRAIN.inputs.clone(), torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    fit(surrogates=ALL, config=MLP, random_labels=True)
    assert torch.equal(TRAIN.inputs, before)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numpy_state[1])  # noqa: NPY002


# What a seed decides.


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
def test_the_same_call_with_the_same_number_of_threads_gives_the_same_bits(config):
    with workers(3):
        first, *others = (fit(surrogates=ALL, seeds=range(5), config=config) for _ in range(4))
    for again in others:
        for name in ALL:
            np.testing.assert_array_equal(logits_of(again, name), logits_of(first, name))


@pytest.mark.parametrize("config", [LINEAR, MLP], ids=lambda config: config.kind)
@pytest.mark.parametrize("threads", [1, 2, 5, 9])
def test_other_seeds_other_surrogates_and_more_threads_change_a_seed_by_rounding_only(config, threads):
    with workers(threads):
        together = fit(surrogates=ALL, seeds=(6, 3, 0, 8, 5), config=config)
    for name in ALL:
        for place, seed in ((0, 6), (2, 0), (4, 5)):
            alone = fit(surrogates=(name,), seeds=(seed,), config=config).scores[name][0]
            one = together.scores[name][place]
            np.testing.assert_allclose(one.logits, alone.logits, rtol=0, atol=ROUNDING)
            np.testing.assert_array_equal(one.answers, alone.answers)


def test_another_seed_gives_another_head_and_other_answers():
    one, other = fit(seeds=(0, 1)).scores["softmax"]
    assert np.abs(one.logits - other.logits).max() > 0.01
    assert (one.answers != other.answers).any()
