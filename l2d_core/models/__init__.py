"""Networks, one file each, and those that can be trained by name, from images or from word vectors."""

from collections.abc import Callable, Mapping

import torch
from torch import nn

from l2d_core.common.checks import brief, require_known
from l2d_core.common.json_fields import check_options
from l2d_core.common.seeds import torch_generator
from l2d_core.models.backbones import lite0_classifier, resnet34, resnet50
from l2d_core.models.small_resnet import small_resnet
from l2d_core.models.text_cnn import text_cnn
from l2d_core.models.wide_resnet import wide_resnet

# Each is called with (num_outputs, shape of one case, (C, H, W) or (D, T), **options).
MODELS: dict[str, Callable[..., nn.Module]] = {
    "small_resnet": small_resnet,
    "wide_resnet": wide_resnet,
    "resnet34": resnet34,
    "resnet50": resnet50,
    "efficientnet_lite0": lite0_classifier,
    "text_cnn": text_cnn,
}
MOST_OPTION = 10_000  # layers or channels, say: with more, no tensor could have the size that follows


def make_model(
    name: str,
    num_outputs: int,
    image_shape: tuple[int, ...],
    *,
    seed: int,
    options: Mapping[str, bool | int | float | str] | None = None,
) -> nn.Module:
    """A new network whose first weights depend on the seed alone; K+J outputs for K classes and J experts.

    name: in MODELS; image_shape (C, H, W), or (D, T) of word vectors; options: keyword options of that network.
    ValueError on an unknown name or option, or on an option or a shape that the network refuses.
    """
    require_known("model", name, MODELS)
    check_options(f"model {name!r}", MODELS[name], options or {})
    for option, value in (options or {}).items():
        if isinstance(value, int) and value > MOST_OPTION:
            raise ValueError(f"{option} of model {name!r} must be at most {MOST_OPTION:,}, got {brief(value)}")
    with torch.random.fork_rng(devices=[]):  # layers draw their first weights from the global generator
        torch.default_generator.manual_seed(torch_generator(seed, "weights").initial_seed())
        try:
            return MODELS[name](num_outputs, image_shape, **options or {})
        except RuntimeError as problem:  # torch's error for lack of memory and for sizes that no tensor can have
            raise ValueError(f"model {name!r} cannot be made with {brief(dict(options or {}))}: {problem}") from problem
