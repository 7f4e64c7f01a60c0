"""Frozen stages of a fine-tuned network: no gradient, no new statistics, the same bits after a pause."""

import copy
from dataclasses import replace

import pytest
import torch
from tiny_training import CONFIG, run, same_bits, stop_after, tiny_splits, without_times
from torch import nn

from l2d_core.data import Splits
from l2d_core.models import make_model
from l2d_core.models.backbones import FineTuned
from l2d_core.models.head import Float32Linear
from l2d_core.models.weights import Network, encode_weights, load_weights

SHAPE = (3, 32, 32)
STAGES = {"resnet34": 4, "efficientnet_lite0": 7}
STEMS = {"resnet34": ("conv1", "bn1"), "efficientnet_lite0": ("conv_stem", "bn1")}
pytest.importorskip("timm")


def build(name, frozen_stages, **options):
    return make_model(name, 4, SHAPE, seed=0, options={"frozen_stages": frozen_stages, **options})


def frozen_names(name, frozen_stages):
    """What the parameters of the stem and the first stages begin with."""
    prefix = "blocks." if name == "efficientnet_lite0" else "layer"
    first = 0 if name == "efficientnet_lite0" else 1
    stages = [f"0.{prefix}{first + number}." for number in range(frozen_stages)]
    return (*(f"0.{part}." for part in STEMS[name]), *stages) if frozen_stages else ()


def some_images(count=4):
    return torch.randn(count, *SHAPE, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("frozen_stages", [0, 2])
def test_a_step_changes_all_that_is_not_frozen_and_nothing_that_is(name, frozen_stages):
    model = build(name, frozen_stages).eval().train()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model(some_images()).square().sum().backward()
    optimizer.step()
    frozen = frozen_names(name, frozen_stages)
    for key, parameter in model.named_parameters():
        assert (parameter.grad is None) == key.startswith(frozen or "nothing"), key
    for key, tensor in model.state_dict().items():
        if key.startswith(frozen or "nothing"):
            assert torch.equal(tensor, before[key]), key
        elif key.endswith("running_mean"):
            assert not torch.equal(tensor, before[key]), key


@pytest.mark.parametrize("name", STAGES)
def test_of_frozen_stages_nothing_is_kept_for_a_gradient(name):
    model = build(name, 2)
    seen = {}
    last_frozen = model[0].blocks[1] if name == "efficientnet_lite0" else model[0].layer2
    next_stage = model[0].blocks[2] if name == "efficientnet_lite0" else model[0].layer3
    for key, part in (("frozen", last_frozen), ("next", next_stage)):
        part.register_forward_hook(lambda _part, _in, out, key=key: seen.update({key: out}))
    model.train()(some_images())
    assert seen["frozen"].grad_fn is None
    assert seen["next"].grad_fn is not None


def test_frozen_parts_stay_in_evaluation_mode_through_every_change_of_mode_and_a_copy():
    model = build("efficientnet_lite0", 3)
    for mode in (True, False, True):
        for one in (model, copy.deepcopy(model)):
            one.train(mode)
            stages = list(one[0].blocks)[:3]
            assert not any(module.training for stage in stages for module in stage.modules())
            assert not one[0].bn1.training
            assert one[0].blocks[3].training == one[-1].training == mode


def test_all_stages_frozen_leave_what_comes_after_them():
    model = build("resnet34", 4)
    assert [name for name, parameter in model.named_parameters() if parameter.requires_grad] == ["1.weight", "1.bias"]


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("stages", [-1, 8])
def test_stages_out_of_range_are_refused(name, stages):
    with pytest.raises(ValueError, match=f"frozen_stages must lie in 0..{STAGES[name]}, got {stages}"):
        build(name, stages)


@pytest.mark.parametrize("dropout", [-0.1, 1, float("nan")])
def test_a_dropout_out_of_range_is_refused(dropout):
    with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, got"):
        build("resnet34", 0, dropout=dropout)


def test_dropout_is_between_features_and_last_layer_and_only_in_training():
    model = build("resnet34", 0, dropout=0.5)
    assert [type(part).__name__ for part in model] == ["ResNet", "Dropout", "Float32Linear"]
    model.eval()
    assert torch.equal(model(some_images()), model[-1](model[0](some_images())))
    model.train()
    assert (model[1](torch.ones(10_000)) == 0).float().mean().item() == pytest.approx(0.5, abs=0.03)


def test_a_network_with_frozen_stages_comes_back_from_its_file(tmp_path):
    options = {"frozen_stages": 2, "dropout": 0.1}
    network = Network("resnet34", SHAPE, ("a", "b", "c"), ("expert",), {**options, "pretrained": True})
    model = build("resnet34", 2, dropout=0.1)
    (tmp_path / "model.safetensors").write_bytes(encode_weights(model, network))
    loaded, stored = load_weights(tmp_path / "model.safetensors")
    assert stored.options == options
    assert same_bits(model, loaded)
    assert not loaded[0].layer2[0].conv1.weight.requires_grad


def fine_tuned(seed=0):
    """A small network with batch norm in a frozen and in a trained part."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first = nn.Sequential(nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        second = nn.Sequential(nn.Conv2d(6, 6, 3, bias=False), nn.BatchNorm2d(6), nn.AdaptiveAvgPool2d((1, 3)))
        features = nn.Sequential(first, second, nn.Flatten())
        return FineTuned(features, Float32Linear(18, 4), 0.3, [first])


def half_splits():
    parts = tiny_splits()
    return Splits(*(replace(data, inputs=data.inputs.half()) for data in (parts.train, parts.validation, parts.test)))


def test_a_pause_leaves_no_trace_with_frozen_stages_images_in_half_precision_and_colours(tmp_path):
    config = replace(CONFIG, optimizer="adamw", learning_rate=0.02, augment="crop_flip_colour", class_weights="sqrt")
    whole, whole_history = run(config, model=fine_tuned(), splits=half_splits())
    path = tmp_path / "last.pt"
    run(config, model=fine_tuned(), splits=half_splits(), checkpoint=path, on_epoch=stop_after(2))
    model, history = run(config, model=fine_tuned(seed=3), splits=half_splits(), checkpoint=path)
    assert same_bits(model, whole)
    assert without_times(history) == without_times(whole_history)
    for name, tensor in fine_tuned().state_dict().items():
        same = torch.equal(whole.state_dict()[name], tensor)
        assert same == name.startswith("0.0."), name


def test_images_in_half_precision_train_as_the_same_numbers_in_float32():
    half = half_splits()
    single = Splits(*(replace(data, inputs=data.inputs.float()) for data in (half.train, half.validation, half.test)))
    assert same_bits(run(splits=half)[0], run(splits=single)[0])
