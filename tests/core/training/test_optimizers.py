"""Learning rates by the step, against hand-computed values; optimisers with the settings of the config."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from l2d_core.config import RunConfig
from l2d_core.lab.descent import PlainAdamW
from l2d_core.training.optimizers import learning_rate_at, make_optimizer

COSINE = RunConfig(schedule="cosine_warmup", warmup_epochs=1, epochs=3, learning_rate=0.4)


def rates(config, steps_an_epoch):
    return [learning_rate_at(config, step, steps_an_epoch) for step in range(config.epochs * steps_an_epoch)]


def test_the_rate_warms_up_in_a_line_and_falls_as_a_cosine():
    got = rates(COSINE, 3)
    assert got[:4] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    # Six steps of cosine after three of warm-up: cos(pi / 6), cos(pi / 3), ...
    assert got[5] == pytest.approx(0.4 * (1 + 0.5) / 2)
    assert got[6] == pytest.approx(0.4 * 0.5)
    assert got[8] == pytest.approx(0.4 * (1 - 0.75**0.5) / 2)


def test_without_warm_up_the_cosine_is_torch_s():
    config = replace(COSINE, warmup_epochs=0)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    expected = []
    for _ in range(12):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates(config, 4) == pytest.approx(expected)


def test_one_cycle_is_torch_s():
    config = RunConfig(epochs=5, learning_rate=0.2)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=20, cycle_momentum=False)
    expected = []
    for step in range(20):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step < 19:
            schedule.step()
    assert rates(config, 4) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["cosine_warmup", "one_cycle", "constant"])
@pytest.mark.parametrize("steps_an_epoch", [1, 7])
def test_rates_stay_above_0_and_reach_their_peak(schedule, steps_an_epoch):
    for epochs in (2, 3, 10):
        got = rates(RunConfig(schedule=schedule, epochs=epochs, learning_rate=0.3), steps_an_epoch)
        assert all(0 < rate <= 0.3 + 1e-12 for rate in got)
        assert max(got) == pytest.approx(0.3)


def test_optimisers_are_made_with_the_settings_of_the_config():
    parameters = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2), requires_grad=False)]
    sgd = make_optimizer(RunConfig(momentum=0.8, weight_decay=0.01), parameters)
    adamw = make_optimizer(RunConfig(optimizer="adamw", momentum=0.8), parameters)
    assert isinstance(sgd, torch.optim.SGD)
    assert sgd.defaults["nesterov"]
    assert (sgd.defaults["momentum"], sgd.defaults["weight_decay"]) == (0.8, 0.01)
    assert adamw.defaults["betas"] == (0.8, 0.999)
    assert isinstance(make_optimizer(RunConfig(optimizer="adam"), parameters), torch.optim.Adam)
    assert len(sgd.param_groups[0]["params"]) == 1  # frozen weights are left out, and so do not decay
    assert not make_optimizer(RunConfig(momentum=0), parameters).defaults["nesterov"]


def test_the_plain_adamw_takes_torchs_steps_to_the_last_bit():
    generator = torch.Generator().manual_seed(0)
    plain = [torch.randn(3, 4, generator=generator), torch.randn(3, 1, generator=generator)]
    known = [weight.clone() for weight in plain]
    mine, torchs = PlainAdamW(plain, weight_decay=0.01), torch.optim.AdamW(known, weight_decay=0.01, fused=True)
    for step in range(25):
        for one, other in zip(plain, known, strict=True):
            one.grad = other.grad = torch.randn(one.shape, generator=generator)
        mine.step(0.1 / (step + 1))
        torchs.param_groups[0]["lr"] = 0.1 / (step + 1)
        torchs.step()
    assert all(torch.equal(one, other) for one, other in zip(plain, known, strict=True))


def test_the_plain_adamw_wants_every_gradient():
    weights = [torch.zeros(2), torch.zeros(2)]
    weights[0].grad = torch.zeros(2)
    with pytest.raises(ValueError, match="1 parameters have no gradient"):
        PlainAdamW(weights, weight_decay=0.0).step(0.1)


def test_a_fit_does_not_import_torchs_compiler():
    code = (
        "import sys, torch\n"
        "from l2d_core.lab.descent import PlainAdamW\n"
        "weight = torch.zeros(2)\n"
        "weight.grad = torch.ones(2)\n"
        "PlainAdamW([weight], weight_decay=0.0).step(0.1)\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
