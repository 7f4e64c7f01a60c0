"""A network's weights as a .safetensors file, with what is needed to build the network that they belong to."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from l2d_core.checkpoints import copy_weights
from l2d_core.json_fields import Option, read_fields
from l2d_core.models import make_model

WEIGHTS_VERSION = 1


@dataclass(frozen=True)
class Network:
    """How a network is built: its name in `MODELS`, its options, the images it takes, (C, H, W), and its outputs."""

    model: str
    image_shape: tuple[int, ...]
    class_names: tuple[str, ...]
    expert_names: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)

    def build(self, *, seed: int = 0) -> nn.Module:
        """A new one, whose first weights depend on the seed. ValueError on a name or an option that is not known."""
        num_outputs = len(self.class_names) + len(self.expert_names)
        return make_model(self.model, num_outputs, self.image_shape, seed=seed, options=self.options)


def halve_precision(model: nn.Module) -> None:
    """Round the matrices and filters of a network to half precision in place, so that they take half the room.

    What a number a channel is left alone: biases, and the scales, means and variances of batch norm, which may be
    too small for it. So is a tensor with a value above 65,504.
    """
    for parameter in model.parameters():
        rounded = parameter.data.half()
        if parameter.ndim > 1 and rounded.isfinite().all():
            parameter.data.copy_(rounded)


def encode_weights(model: nn.Module, network: Network) -> bytes:
    """The content of a .safetensors file. What half precision holds without loss is stored in it."""
    described = json.dumps(asdict(_untrained(network)))
    return save(small_tensors(model), {"version": str(WEIGHTS_VERSION), "network": described})


def small_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Its parameters and buffers, on the CPU; what half precision holds without loss is in it."""
    return {name: _smallest(tensor.cpu().contiguous()) for name, tensor in copy_weights(model).items()}


def load_weights(path: str | os.PathLike) -> tuple[nn.Module, Network]:
    """The network in a file that `encode_weights` made, on the CPU, in float32 and evaluation mode.

    FileNotFoundError where there is no file; ValueError names it where it is damaged, or of another kind or version.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {os.fspath(path)}")
    try:
        with safe_open(path, framework="pt") as file:
            network = _read_network(file.metadata() or {})
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
        model = network.build()
        model.load_state_dict(tensors)
    except (SafetensorError, ValueError, RuntimeError, OSError) as problem:
        reason = " ".join(str(problem).split())
        raise ValueError(f"the weights {os.fspath(path)} cannot be read: {reason}") from problem
    return model.eval(), network


def _smallest(tensor: Tensor) -> Tensor:
    half = tensor.half()
    return half if tensor.dtype == torch.float32 and tensor.ndim > 1 and torch.equal(half.float(), tensor) else tensor


def _untrained(network: Network) -> Network:
    """How to build it for weights that are at hand: none have to be fetched only to be replaced."""
    return replace(network, options={name: value for name, value in network.options.items() if name != "pretrained"})


def _read_network(metadata: Mapping[str, str]) -> Network:
    if metadata.get("version") != str(WEIGHTS_VERSION) or "network" not in metadata:
        raise ValueError(
            f"it has version {metadata.get('version')!r}, and this program reads version {WEIGHTS_VERSION}"
        )
    fields = read_fields("network", json.loads(metadata["network"]), Network)
    missing = [name for name in ("model", "image_shape", "class_names", "expert_names") if name not in fields]
    if missing:
        raise ValueError(f"it does not say {', '.join(missing)} of its network")
    return _untrained(Network(**fields))
