"""A network's weights as a .safetensors file, with what is needed to build the network that they belong to."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import psutil
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from l2d_core.common.checks import brief
from l2d_core.common.json_fields import Option, parse_json, read_fields
from l2d_core.models import make_model

WEIGHTS_VERSION = 1
LARGE = 65_536
MOST_STEPS, SCALE_STEPS = 127, 2**11
SCALE = ":scale"  # the end of the name of a tensor's scales; no module's name has a colon


Built = TypeVar("Built", bound=nn.Module)
# What a damaged or forged file may raise on its way to a network.
UNREADABLE = (SafetensorError, ValueError, TypeError, KeyError, RuntimeError, OverflowError, MemoryError, OSError)

_COMPILED = "_orig_mod."  # what torch.compile puts before the names


@dataclass(frozen=True)
class Network:
    """How a network is built: its name in `MODELS`, its options, the images it takes, (C, H, W), and its outputs."""

    model: str
    image_shape: tuple[int, ...]
    class_names: tuple[str, ...]
    expert_names: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)

    def build(self, *, seed: int = 0) -> nn.Module:
        """A new one, whose first weights depend on the seed.

        ValueError on a name or an option that is not known, and where its weights need more than this machine's memory.
        """
        if any(type(value) is int for value in self.options.values()):  # a number of layers or channels
            self._require_memory()
        num_outputs = len(self.class_names) + len(self.expert_names)
        return make_model(self.model, num_outputs, self.image_shape, seed=seed, options=self.options)

    def _require_memory(self) -> None:
        num_outputs, options = len(self.class_names) + len(self.expert_names), _untrained(self).options
        with torch.device("meta"), _WithoutFirstWeights():
            made = make_model(self.model, num_outputs, self.image_shape, seed=0, options=options)
        size, memory = sum(one.nbytes for one in made.parameters()), psutil.virtual_memory().total
        if size > memory:
            raise ValueError(
                f"the weights of model {self.model!r} with {brief(dict(options))} take {size / 1e9:,.0f} GB, and this "
                f"machine has {memory / 1e9:,.0f} GB of memory"
            )


def halve_precision(model: nn.Module) -> None:
    """Round the matrices and filters of a network to half precision in place, so that they take half the room.

    Tensors with one number per channel keep full precision: biases, and the scales, means and variances of batch norm,
    which may be too small for half. So does a tensor with a value above 65,504.
    """
    for parameter in model.parameters():
        rounded = parameter.data.half()
        if parameter.ndim > 1 and rounded.isfinite().all():
            parameter.data.copy_(rounded)


def to_eight_bits(model: nn.Module) -> None:
    """Round the large matrices and filters of a network in place to 255 steps per output channel.

    A weight becomes q s with q in -127..127 and s a scale of its channel, w.abs().max() / 127 rounded up to 11 binary
    digits, so that both can be recovered exactly from the rounded weights; stored, a weight takes one byte. Tensors
    with fewer than 65,536 numbers are left alone: they take little room.
    """
    for parameter in model.parameters():
        if _is_large_matrix(parameter):
            steps, scale = _in_steps(parameter.data)
            parameter.data.copy_(steps * scale)


def _in_steps(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest whole numbers of steps, and the step of each output channel (C, 1, ...)."""
    mantissa, exponent = torch.frexp(tensor.abs().amax(dim=tuple(range(1, tensor.ndim)), keepdim=True) / MOST_STEPS)
    scale = torch.ldexp(torch.ceil(mantissa * SCALE_STEPS) / SCALE_STEPS, exponent)
    scale = torch.where(scale > 0, scale, 1.0)
    return (tensor / scale).round().clamp(-MOST_STEPS, MOST_STEPS), scale


def encode_weights(model: nn.Module, network: Network) -> bytes:
    """The content of a .safetensors file: bytes for what `to_eight_bits` has rounded, half precision where that
    loses nothing, full precision for the rest.
    """
    described = json.dumps(asdict(_untrained(network)))
    tensors: dict[str, Tensor] = {}
    for name, tensor in small_tensors(model).items():
        steps, scale = _in_steps(tensor.float()) if _is_large_matrix(tensor) else (None, None)
        if steps is not None and scale is not None and torch.equal(steps * scale, tensor.float()):
            tensors |= {name: steps.to(torch.int8), name + SCALE: scale}
        else:
            tensors[name] = tensor
    return save(tensors, {"version": str(WEIGHTS_VERSION), "network": described})


def _is_large_matrix(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.ndim > 1 and tensor.numel() >= LARGE


def _without_scales(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as a network takes them: bytes times their scales."""
    return {
        name: tensor * tensors[name + SCALE] if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }


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
        model = build_with(network.build, _without_scales(tensors))
    except UNREADABLE as problem:
        reason = " ".join(str(problem).split())
        raise ValueError(f"the weights {os.fspath(path)} cannot be read: {reason}") from problem
    return model.eval(), network


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """A deep copy of all parameters and buffers: training on leaves it as it is."""
    return {name: tensor.detach().clone() for name, tensor in unwrap(model).state_dict().items()}


def unwrap(model: nn.Module) -> nn.Module:
    """The model itself, where it is wrapped by torch.compile."""
    return getattr(model, "_orig_mod", model)


def without_compile_prefix(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of the model itself, where a compiled one was saved: all have its wrapper's prefix."""
    if not all(name.startswith(_COMPILED) for name in weights):
        return dict(weights)
    return {name.removeprefix(_COMPILED): tensor for name, tensor in weights.items()}


def build_with(build: Callable[[], Built], tensors: Mapping[str, Tensor]) -> Built:
    """A new network with these weights, which a compiled one may have had. ValueError where they are not its own.

    Names and shapes are compared before the network takes any memory: what a file says of it may be gigabytes.
    """
    import torch._dynamo  # torchvision does so when it is first needed, and torch before 2.8 cannot below

    tensors = without_compile_prefix(tensors)
    with torch.device("meta"), _WithoutFirstWeights():
        wanted = {name: tuple(tensor.shape) for name, tensor in build().state_dict().items()}
    given = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if given != wanted:
        different = sorted(name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name))
        name = different[0]
        raise ValueError(
            f"its tensors are not those of its network, {len(different):,} differ: {brief(name)} must have the shape "
            f"{wanted.get(name, 'nothing')}, got {given.get(name, 'nothing')}"
        )
    model = build()
    model.load_state_dict(tensors)
    return model


class _WithoutFirstWeights(TorchFunctionMode):
    """Skips operations in place: drawing random numbers into a tensor without memory takes seconds."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "").endswith("_") and not func.__name__.endswith("__") and args:
            return args[0]
        return func(*args, **kwargs or {})


def _smallest(tensor: Tensor) -> Tensor:
    half = tensor.half()
    return half if tensor.dtype == torch.float32 and tensor.ndim > 1 and torch.equal(half.float(), tensor) else tensor


def _untrained(network: Network) -> Network:
    """How to build it for weights that are at hand: none have to be fetched only to be replaced."""
    return replace(network, options={name: value for name, value in network.options.items() if name != "pretrained"})


def _read_network(metadata: Mapping[str, str]) -> Network:
    if metadata.get("version") != str(WEIGHTS_VERSION) or "network" not in metadata:
        raise ValueError(
            f"it has version {brief(metadata.get('version'))}, and this program reads version {WEIGHTS_VERSION}"
        )
    fields = read_fields("network", parse_json(metadata["network"], "what it says of its network"), Network)
    missing = [name for name in ("model", "image_shape", "class_names", "expert_names") if name not in fields]
    if missing:
        raise ValueError(f"it does not say {', '.join(missing)} of its network")
    return _untrained(Network(**fields))
