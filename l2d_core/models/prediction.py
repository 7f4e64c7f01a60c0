"""From inputs to logits, in batches, on any device."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float32
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from l2d_core.common.checks import require_known
from l2d_core.config import PRECISIONS


def predict(
    model: nn.Module,
    inputs: Tensor,
    *,
    batch_size: int,
    device: str | torch.device,
    precision: str = "float32",
    channels_last: bool = True,
    batch_statistics: bool = False,
) -> Float32[Tensor, "N M"]:
    """The model's logits for inputs (N, ...), on the CPU; the model ends in the mode in which it came.

    The model is moved to the device; inputs may stay on the CPU. precision: "bfloat16" or "float32"; `train`
    validates in that of its config. batch_statistics: batch norm takes mean and variance from each batch, not
    from training; so the logits depend on batch_size and on the order of the cases.
    ValueError on no cases, a batch_size below 1 or an unknown precision.
    """
    if len(inputs) == 0 or batch_size < 1:
        raise ValueError(f"there must be cases and a batch_size of at least 1, got {len(inputs)} and {batch_size}")
    require_known("precision", precision, PRECISIONS)
    device = torch.device(device)
    model.to(device)
    logits = []
    with _evaluation(model, batch_statistics), torch.inference_mode():
        for batch in inputs.split(batch_sizes(len(inputs), batch_size)):
            with autocast(device, precision):
                logits.append(model(to_device(batch, device, channels_last)).float())
    return torch.cat(logits).cpu()


def batch_sizes(num_cases: int, batch_size: int) -> list[int]:
    """Sizes of batches that differ by at most one: as few as batch_size allows, but none of a single case.

    There is no small rest: it would weigh each of its cases more, and batch norm fails on a single one. Only
    where batch_size is 2 and num_cases odd, or batch_size 1, can a batch be larger than batch_size.
    """
    count = max(1, min(-(-num_cases // batch_size), num_cases // 2))
    return [len(part) for part in torch.arange(num_cases).tensor_split(count)]


def to_device(batch: Tensor, device: torch.device, channels_last: bool) -> Tensor:
    """Inputs as networks take them: float32 if they are floats, images with the channels last in memory if wished."""
    batch = batch.to(torch.float32) if batch.is_floating_point() else batch
    batch = batch.to(device, non_blocking=True)
    return batch.contiguous(memory_format=torch.channels_last) if channels_last and batch.ndim == 4 else batch


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context in which a network runs: autocast to bfloat16, or nothing."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


@contextmanager
def _evaluation(model: nn.Module, batch_statistics: bool) -> Iterator[None]:
    """Evaluation mode, and for batch_statistics batch norm in a mode that neither reads nor moves running means."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    if batch_statistics:
        for norm in norms:
            norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        for norm in norms:
            norm.track_running_stats = True
