"""Networks: sizes, shapes, first weights from a seed, logits in float32, and options that are refused by name."""

import pytest
import torch
from torch import nn

from l2d_core.models import MODELS, backbones, make_model
from l2d_core.models.head import Float32Linear

SHAPE = (3, 32, 32)
SHAPES = {"text_cnn": (20, 12)}
OPTIONS = {"wide_resnet": {"depth": 10, "width": 1}}


def count_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


def wide_resnet_parameters(depth, width, outputs):
    """Counted from the paper's table: convolutions, two numbers per channel for each batch norm, the last layer."""
    blocks, channels, total = (depth - 4) // 6, 16, 3 * 16 * 9
    for out in (16 * width, 32 * width, 64 * width):
        for block in range(blocks):
            into = channels if block == 0 else out
            total += 9 * into * out + 9 * out * out + 2 * into + 2 * out
            total += into * out if block == 0 and (into != out or out > 16 * width) else 0
        channels = out
    return total + 2 * channels + (channels + 1) * outputs


@pytest.mark.parametrize("name", MODELS)
def test_every_model_gives_float32_logits_and_learns_in_bfloat16(name):
    pytest.importorskip("timm")
    shape = SHAPES.get(name, SHAPE)
    model = make_model(name, 5, shape, seed=0, options=OPTIONS.get(name))
    inputs = torch.randn(2, *shape)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(inputs.contiguous(memory_format=torch.channels_last) if inputs.ndim == 4 else inputs)
    assert logits.shape == (2, 5)
    assert logits.dtype == torch.float32
    logits.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", ["small_resnet", "wide_resnet"])
def test_first_weights_depend_on_the_seed_alone(name):
    torch.manual_seed(1)
    first = make_model(name, 5, SHAPE, seed=0, options=OPTIONS.get(name)).state_dict()
    torch.manual_seed(2)
    state = torch.random.get_rng_state()
    again = make_model(name, 5, SHAPE, seed=0, options=OPTIONS.get(name)).state_dict()
    other = make_model(name, 5, SHAPE, seed=1, options=OPTIONS.get(name)).state_dict()
    assert torch.equal(torch.random.get_rng_state(), state)  # the program's own random numbers are left alone
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize(("depth", "width"), [(28, 4), (16, 2), (10, 1)])
def test_a_wide_resnet_has_as_many_parameters_as_the_paper_says(depth, width):
    model = make_model("wide_resnet", 11, SHAPE, seed=0, options={"depth": depth, "width": width})
    assert count_parameters(model) == wide_resnet_parameters(depth, width, 11)
    convolutions = [
        module for module in model.modules() if isinstance(module, nn.Conv2d) and module.kernel_size[0] == 3
    ]
    assert len(convolutions) == depth - 3  # and one layer of depth is the last one; two are projections


def test_the_default_wide_resnet_is_28_4_and_the_small_one_has_a_million_parameters():
    assert count_parameters(make_model("wide_resnet", 11, SHAPE, seed=0)) == wide_resnet_parameters(28, 4, 11)
    assert 1.0e6 < count_parameters(make_model("small_resnet", 11, SHAPE, seed=0)) < 1.2e6


@pytest.mark.parametrize("name", ["small_resnet", "wide_resnet"])
def test_images_of_other_sizes_and_channels_pass(name):
    model = make_model(name, 4, (1, 12, 9), seed=0, options=OPTIONS.get(name))
    assert model(torch.randn(3, 1, 12, 9)).shape == (3, 4)


def test_an_image_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="at least 8 x 8 for small_resnet, got"):
        make_model("small_resnet", 4, (3, 7, 32), seed=0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wide_resnet", {"depth": 27}, "depth must be 6 n"),
        ("wide_resnet", {"depth": 4}, "depth must be 6 n"),
        ("wide_resnet", {"width": 0}, "width must be at least 1, got 0"),
        ("wide_resnet", {"dropout": 0.3}, "model 'wide_resnet' has no option 'dropout'; it has depth, width"),
        ("small_resnet", {"depth": 9}, "model 'small_resnet' has no option 'depth'; it has none"),
        ("vgg", {}, "model must be one of 'small_resnet', 'wide_resnet'"),
    ],
)
def test_wrong_names_and_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_model(name, 11, SHAPE, seed=0, options=options)


def test_a_backbone_wants_colour_images():
    with pytest.raises(ValueError, match="image_shape must be"):
        make_model("resnet34", 11, (1, 32, 32), seed=0)


def test_a_backbone_without_weights_says_so_and_starts_at_random(monkeypatch):
    pytest.importorskip("timm")
    own = backbones._timm_features

    def offline(name, *, pretrained):
        if pretrained:
            raise OSError("no route to the hub")
        return own(name, pretrained=False)

    monkeypatch.setattr(backbones, "_timm_features", offline)
    with pytest.warns(UserWarning, match="no ImageNet weights for resnet34.*random weights: no route to the hub"):
        model = make_model("resnet34", 5, SHAPE, seed=0, options={"pretrained": True})
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_pretrained_backbone_is_neither_frozen_nor_in_evaluation_mode(monkeypatch):
    frozen = nn.Sequential(nn.Conv2d(3, 7, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()).requires_grad_(False).eval()
    frozen.num_features = 7
    monkeypatch.setattr(backbones, "efficientnet_lite0", lambda: frozen)
    model = make_model("efficientnet_lite0", 5, SHAPE, seed=0, options={"pretrained": True})
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(module.training for module in model.modules())
    assert torch.equal(model[0][0].weight, frozen[0].weight)


def test_the_last_layer_tells_apart_logits_that_are_one_in_bfloat16():
    layer = Float32Linear(1, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0], [1.001]]))
        layer.bias.zero_()
    with torch.autocast("cpu", torch.bfloat16):
        low, high = layer(torch.tensor([[4.0]]))[0].tolist()
    assert low < high
