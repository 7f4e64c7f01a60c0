"""The training loop: the same bits for the same seed, the best weights on every way out, and errors that say where."""

import math
from dataclasses import replace

import pytest
import torch
from tiny_training import CONFIG, EXPERT, run, same_bits, tiny_data, tiny_model, tiny_splits, without_times
from torch import nn

from l2d_core.calibration.binned import calibration_error
from l2d_core.common.seeds import torch_generator
from l2d_core.config import ExpertConfig
from l2d_core.data import Scores, Splits
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_pairs
from l2d_core.models.head import Float32Linear
from l2d_core.models.prediction import predict
from l2d_core.surrogates import SURROGATES
from l2d_core.training import loop
from l2d_core.training.augment import draw_moves

PLAIN = replace(CONFIG, augment="none", schedule="constant", epochs=1, batch_size=64)


def test_training_is_a_plain_loop_written_out():
    """Two epochs of three batches with a falling rate; the model comes in evaluation mode, which must not matter."""
    config = replace(CONFIG, augment="none", schedule="cosine_warmup", epochs=2, batch_size=20)
    splits, expected = tiny_splits(), tiny_model()
    model, history = run(config, splits=splits, model=tiny_model().eval())
    optimizer = torch.optim.SGD(expected.parameters(), lr=9.9, momentum=0.9, nesterov=True, weight_decay=5e-4)
    data, step, sums = splits.train, 0, []
    for epoch in (1, 2):
        order = torch.randperm(50, generator=torch_generator(0, f"batches of epoch {epoch}"))
        sums.append(0.0)
        for rows in (order[:17], order[17:34], order[34:]):
            optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 6)) / 2
            logits = expected(data.inputs[rows])
            losses = SURROGATES["one_vs_all"].loss(logits, data.labels[rows], data.expert_correct[rows])
            optimizer.zero_grad()
            losses.mean().backward()
            optimizer.step()
            sums[-1] += losses.sum().item()
            step += 1
    assert [report.train_loss for report in history] == pytest.approx([total / 50 for total in sums], rel=1e-4)
    assert history[1].learning_rate == pytest.approx(0.05 * (1 + math.cos(math.pi * 5 / 6)) / 2)
    assert history[1].validation_loss < history[0].validation_loss  # so that the last weights are the best
    for name, tensor in expected.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-3, atol=1e-5)


def test_training_images_are_moved_and_validation_images_are_not(monkeypatch):
    batches, own = [], loop.apply_moves

    def move_images(images, moves):
        batches.append((own(images, moves), moves))
        return batches[-1][0]

    monkeypatch.setattr(loop, "apply_moves", move_images)
    seen = []
    model = tiny_model()
    model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].clone()) if module.training else None)
    run(replace(CONFIG, epochs=1), model=model)
    assert len(batches) == len(seen) == 4
    assert all(torch.equal(moved, given) for (moved, _), given in zip(batches, seen, strict=True))
    moves = torch.cat([drawn for _, drawn in batches])
    assert torch.equal(moves, draw_moves("crop_flip", 50, generator=torch_generator(0, "augmentation of epoch 1")))


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "adam"])
def test_training_lowers_the_loss_and_reports_each_epoch(surrogate, optimizer):
    config = replace(CONFIG, surrogate=surrogate, optimizer=optimizer, learning_rate=0.03, epochs=6)
    _, history = run(config)
    assert [report.epoch for report in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1].train_loss < history[0].train_loss
    assert all(report.images_per_second > 0 and report.seconds > 0 for report in history)
    assert not history[0].reference


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    noise = replace(CONFIG, redraw_answers=True)
    first, first_history = run(noise, model=tiny_model(dropout=0.5))
    torch.manual_seed(99)
    again, again_history = run(noise, model=tiny_model(dropout=0.5))
    other, _ = run(replace(noise, seed=1), model=tiny_model(dropout=0.5))
    assert same_bits(first, again)
    assert without_times(first_history) == without_times(again_history)
    assert not same_bits(first, other)


def test_training_leaves_the_program_s_random_numbers_alone():
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    run(model=tiny_model(dropout=0.5))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_each_purpose_has_random_numbers_of_its_own(monkeypatch):
    """Augmentation must not change the order of the batches, nor new answers either of them."""
    orders = []
    own_step = loop._step

    def step(job, rows, *rest):
        orders[-1].append(rows.tolist())
        return own_step(job, rows, *rest)

    monkeypatch.setattr(loop, "_step", step)
    for changes in ({}, {"augment": "none"}, {"redraw_answers": True}, {"learning_rate": 0.01}):
        orders.append([])
        run(replace(CONFIG, **changes))
    assert orders[0] == orders[1] == orders[2] == orders[3]
    assert orders[0][:4] != orders[0][4:8]  # each epoch has an order of its own


def test_the_reported_numbers_are_those_of_the_best_weights_scored_again():
    splits = tiny_splits()
    model, history = run(splits=splits)
    best = min(history, key=lambda report: report.validation_loss)
    data = splits.validation
    logits = predict(model, data.inputs, batch_size=CONFIG.batch_size, device="cpu")
    scores = Scores.from_arrays(logits.numpy(), data.labels.numpy(), data.answers.numpy(), surrogate=CONFIG.surrogate)
    shares = accuracies(scores, defer_by_argmax(logits))
    loss = SURROGATES["one_vs_all"].loss(logits, data.labels, data.expert_correct).mean()
    assert best.validation_loss == loss.item()
    assert best.system_accuracy == shares["system"].value
    assert best.coverage == shares["coverage"].value
    assert best.calibration_error == calibration_error(*expert_pairs(scores))


def test_validation_is_in_evaluation_mode_over_all_cases():
    splits = tiny_splits()
    splits = Splits(splits.train, tiny_data(33, seed=1), splits.test)  # 16 + 16 + 1 with a careless rest
    model, history = run(replace(CONFIG, epochs=1), splits=splits, model=tiny_model(dropout=0.9))
    model.eval()
    with torch.no_grad():
        logits = model(splits.validation.inputs)
    data = splits.validation
    expected = SURROGATES["one_vs_all"].loss(logits, data.labels, data.expert_correct).mean()
    assert history[0].validation_loss == pytest.approx(expected.item(), rel=1e-5)


def test_huge_logits_give_a_finite_loss_in_bfloat16():
    model = tiny_model()
    with torch.no_grad():
        model[-1].weight.mul_(1e4)
    _, history = run(replace(CONFIG, precision="bfloat16", learning_rate=1e-6, epochs=1), model=model)
    assert math.isfinite(history[0].train_loss)
    assert history[0].train_loss > 100


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_losses_are_computed_in_float32_outside_autocast(monkeypatch, precision):
    seen = []
    own = SURROGATES[CONFIG.surrogate]

    def loss(logits, *rest):
        seen.append((logits.dtype, torch.is_autocast_enabled("cpu")))
        return own.loss(logits, *rest)

    monkeypatch.setitem(SURROGATES, own.name, replace(own, loss=loss))
    model = tiny_model()
    model[-1] = nn.Linear(18, 4)  # under autocast it gives bfloat16
    run(replace(CONFIG, precision=precision, epochs=1), model=model)
    assert set(seen) == {(torch.float32, False)}


def test_bfloat16_and_float32_agree_to_the_precision_of_bfloat16():
    one = {name: run(replace(CONFIG, precision=name))[1][-1].train_loss for name in ("bfloat16", "float32")}
    assert one["bfloat16"] == pytest.approx(one["float32"], rel=0.02)
    assert one["bfloat16"] != one["float32"]


@pytest.mark.parametrize("num_cases", [2, 3, 17, 33, 49])
def test_a_last_batch_of_one_case_does_no_harm(num_cases):
    """Batch norm over 1 x 1 pixels refuses a batch of one case, or would divide by a variance of 0."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 6), nn.BatchNorm1d(6), nn.ReLU(), Float32Linear(6, 4))
    _, history = run(model=model, splits=tiny_splits(num_cases))
    assert all(math.isfinite(report.train_loss) for report in history)


def test_inputs_that_are_no_images_can_be_trained_on():
    def flat(data):
        return replace(data, inputs=data.inputs.flatten(1).double())

    splits = Splits(*(flat(data) for data in (tiny_splits().train, tiny_splits().validation, tiny_splits().test)))
    config = replace(CONFIG, augment="none")
    _, history = run(config, model=Float32Linear(192, 4), splits=splits)
    assert history[-1].train_loss < history[0].train_loss


def test_several_experts_are_trained_on_and_their_calibration_is_averaged():
    def with_a_second_expert(data):
        answers = torch.cat([data.answers, data.labels[:, None]], dim=1)
        return replace(data, answers=answers, expert_names=("a", "always right"))

    splits = tiny_splits()
    splits = Splits(*map(with_a_second_expert, (splits.train, splits.validation, splits.test)))
    model = tiny_model()
    model[-1] = Float32Linear(18, 5)
    _, history = run(replace(CONFIG, epochs=1), model=model, splits=splits)
    data = splits.validation
    logits = predict(model, data.inputs, batch_size=CONFIG.batch_size, device="cpu").numpy()
    scores = Scores.from_arrays(logits, data.labels.numpy(), data.answers.numpy(), surrogate=CONFIG.surrogate)
    errors = [calibration_error(*expert_pairs(scores, expert=expert)) for expert in (0, 1)]
    assert errors[0] != errors[1]
    assert history[0].calibration_error == pytest.approx(sum(errors) / 2)


def test_metrics_leave_out_the_cases_in_which_the_expert_was_not_asked():
    splits = tiny_splits()
    unasked = replace(splits.validation, answers=torch.full_like(splits.validation.answers, -1))
    _, history = run(splits=Splits(splits.train, unasked, splits.test))
    assert history[0].system_accuracy is None
    assert history[0].calibration_error is None
    assert math.isfinite(history[0].validation_loss)


def test_drawn_once_answers_stay_and_redrawn_ones_change_with_the_epoch(monkeypatch):
    seen = {}
    own = loop._answers

    def answers(job, data, purpose, epoch):
        seen[purpose, epoch] = own(job, data, purpose, epoch)
        return seen[purpose, epoch]

    monkeypatch.setattr(loop, "_answers", answers)
    splits = tiny_splits(300)
    run(replace(CONFIG, epochs=2), splits=splits)
    assert torch.equal(seen["answers", 1], splits.train.answers)
    assert torch.equal(seen["answers", 2], splits.train.answers)
    run(replace(CONFIG, epochs=2, redraw_answers=True), splits=splits)
    assert not torch.equal(seen["answers", 1], seen["answers", 2])
    assert ("validation answers", 1) not in seen
    right = torch.cat([seen["answers", epoch] == splits.train.labels[:, None] for epoch in (1, 2)])
    accuracy = torch.tensor(EXPERT.accuracy)[splits.train.labels].mean()
    assert right.float().mean() == pytest.approx(accuracy.item(), abs=0.06)


def test_reference_takes_logarithms_to_the_base_2():
    certain = replace(PLAIN, expert=ExpertConfig(accuracy=(1.0,)), redraw_answers=True)
    plain, reference = (run(config)[1][0] for config in (certain, replace(certain, reference=True)))
    assert reference.reference
    assert reference.train_loss == pytest.approx(plain.train_loss / math.log(2), rel=1e-6)


def test_reference_evaluates_with_new_answers_and_the_statistics_of_the_batch():
    splits = tiny_splits()
    config = replace(PLAIN, reference=True, expert=ExpertConfig(accuracy=(1.0,)), batch_size=64)
    model, history = run(config, splits=splits)
    data = splits.validation
    model.train()
    logits = model(data.inputs).detach()
    correct = torch.ones(len(data), 1, dtype=torch.bool)
    loss = SURROGATES["one_vs_all"].loss(logits, data.labels, correct).mean().item() / math.log(2)
    assert history[0].validation_loss == pytest.approx(loss, rel=1e-5)


def test_compiling_is_the_same_training_and_leaves_no_prefix_in_the_names(monkeypatch):
    own, compiled = torch.compile, []

    def compile_without_kernels(model):
        compiled.append(model)
        return own(model, backend="eager")

    monkeypatch.setattr(torch, "compile", compile_without_kernels)
    model, history = run(replace(CONFIG, compile=True))
    plain, plain_history = run()
    assert compiled == [model]
    assert list(model.state_dict()) == list(plain.state_dict())
    assert same_bits(model, plain)
    assert without_times(history) == without_times(plain_history)


def test_where_compiling_fails_training_goes_on_without_it_and_says_so(monkeypatch):
    def no_compiler(_model):
        def forward(_images):
            raise RuntimeError("no C++ compiler found\nsee the manual")

        return forward

    monkeypatch.setattr(torch, "compile", no_compiler)
    with pytest.warns(UserWarning, match="torch.compile failed.*RuntimeError: no C\\+\\+ compiler found$"):
        model, _ = run(replace(CONFIG, compile=True))
    assert same_bits(model, run()[0])


def test_a_model_that_is_compiled_already_is_trained_itself():
    inner = tiny_model()
    run(model=torch.compile(inner, backend="eager"))
    assert same_bits(inner, run()[0])


def test_channels_last_changes_the_layout_alone():
    last, plain = (run(replace(CONFIG, channels_last=choice)) for choice in (True, False))
    assert last[0][0].weight.is_contiguous(memory_format=torch.channels_last)
    assert last[1][-1].train_loss == pytest.approx(plain[1][-1].train_loss, rel=1e-3)
