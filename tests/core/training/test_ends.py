"""How a training ends: with the best weights on every way out, and in a message where a number is not finite."""

import math
from dataclasses import replace

import pytest
import torch
from tiny_training import CONFIG, run, same_bits, tiny_model
from torch import nn

from l2d_core.training import loop
from l2d_core.training.loop import TrainingDiverged


def ruined_after(epoch):
    """An on_epoch that makes all later epochs worse, and keeps the weights of `epoch` as they were then."""
    kept = {}

    def on_epoch(report, model):
        if report.epoch == epoch:
            kept.update({name: tensor.clone() for name, tensor in model.state_dict().items()})
            with torch.no_grad():
                model[-1].weight.mul_(1000)
                model[-1].bias.fill_(1000)

    return on_epoch, kept


WAYS_OUT = {"all epochs done": {"epochs": 3}, "patience": {"epochs": 50, "patience": 2}}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_best_weights_come_back_at_the_end(way):
    model = tiny_model()
    ruin, kept = ruined_after(1)
    config = replace(CONFIG, schedule="constant", learning_rate=1e-6, augment="none", **WAYS_OUT[way])
    _, history = run(config, model=model, on_epoch=lambda report: ruin(report, model))
    assert len(history) == 3
    assert history[0].validation_loss < history[1].validation_loss
    assert all(torch.equal(model.state_dict()[name], kept[name]) for name in kept)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, RuntimeError, None])
def test_the_best_weights_come_back_when_training_is_broken_off(problem):
    model = tiny_model()
    ruin, kept = ruined_after(1)

    def on_epoch(report):
        ruin(report, model)
        if report.epoch == 2 and problem is not None:
            raise problem
        return report.epoch < 2

    config = replace(CONFIG, schedule="constant", learning_rate=1e-6, epochs=9)
    if problem is None:
        assert len(run(config, model=model, on_epoch=on_epoch)[1]) == 2
    else:
        with pytest.raises(problem):
            run(config, model=model, on_epoch=on_epoch)
    assert all(torch.equal(model.state_dict()[name], kept[name]) for name in kept)


def test_a_stop_within_the_first_epoch_leaves_the_weights_that_came_in():
    seen = []

    def on_step(done, total):
        seen.append((done, total))
        return done < 3

    model, history = run(on_step=on_step)
    assert history == []
    assert seen == [(1, 16), (2, 16), (3, 16)]
    assert same_bits(model, tiny_model())


def test_a_stop_within_an_epoch_leaves_the_finished_ones():
    _, history = run(on_step=lambda done, total: done < 6)
    assert [report.epoch for report in history] == [1]


def test_patience_stops_after_so_many_epochs_without_a_lower_loss():
    worse = replace(CONFIG, epochs=40, patience=3, learning_rate=3.0, schedule="constant")
    _, history = run(worse)
    losses = [report.validation_loss for report in history]
    assert len(losses) < 40
    assert len(losses) - 1 - losses.index(min(losses)) == 3


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_with_the_step_the_batch_and_advice(value):
    steps = []
    model = tiny_model()

    def break_weights(done, _total):
        steps.append(done)
        if done == 5:
            with torch.no_grad():
                model[-1].weight.fill_(value)

    with pytest.raises(TrainingDiverged) as problem:
        run(model=model, on_step=break_weights)
    assert steps == [1, 2, 3, 4, 5]
    message = str(problem.value)
    assert "at step 6 (epoch 2, batch 2 of 4, with the cases case " in message
    assert message.startswith("the loss is ")
    assert "Lower learning_rate, now 0.05" in message
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())


def test_a_gradient_that_is_not_finite_stops_though_the_loss_is_finite():
    class Steep(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4))

        def forward(self, images):
            return self.weight.abs().sqrt() + images.mean(dim=(1, 2, 3))[:, None]  # of slope 0 / 0 at 0

    with pytest.raises(TrainingDiverged, match=r"the gradient is (nan|inf) at step 1 \(epoch 1, batch 1 of 4"):
        run(model=Steep())


def test_a_learning_rate_far_too_high_ends_in_a_message_and_finite_weights():
    model = tiny_model()
    with pytest.raises(TrainingDiverged, match="Lower learning_rate"):
        run(replace(CONFIG, learning_rate=1e30, schedule="constant"), model=model)
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())


def test_where_looking_costs_time_the_first_bad_step_is_named_all_the_same(monkeypatch):
    own, looks = loop._require_finite, []

    def require_finite(setup, epoch, order, steps):
        looks.append(len(steps))
        own(setup, epoch, order, steps)

    def break_weights(done, _total):
        if done == 14:
            model[-1].weight.data.fill_(math.nan)

    monkeypatch.setattr(loop, "_require_finite", require_finite)
    monkeypatch.setattr(loop, "_steps_per_check", lambda device: 3)
    model = tiny_model()
    with pytest.raises(TrainingDiverged, match=r"at step 15 \(epoch 2, batch 5 of 10"):
        run(replace(CONFIG, batch_size=5), model=model, on_step=break_weights)
    assert looks == [3, 6, 9, 10, 3, 6]
