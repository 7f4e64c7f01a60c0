"""Numbers of a run's cases for losses that take more than labels and answers, such as how often the expert is right."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from l2d_core.baselines.classifier import class_loss
from l2d_core.baselines.network_losses import BUDGET, LOSSES
from l2d_core.baselines.triage import best_triage, expert_loss
from l2d_core.common.array_files import load_arrays, save_arrays
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.models.prediction import predict
from l2d_core.runs.cases import expert_probability
from l2d_core.runs.folder import CHECKPOINT, Run, is_done, open_run
from l2d_core.training.setup import CaseNumbers

NUMBERS = "checkpoint/numbers.npz"  # beside the checkpoint, which fits no others
MAX_BYTES = 2**30  # of that file, unpacked


def find_numbers(
    config: RunConfig,
    splits: Splits,
    data_root: str | os.PathLike,
    folder: str | os.PathLike,
    device: torch.device,
) -> CaseNumbers | None:
    """The numbers that the loss of a run in this folder takes for its cases; None for a loss that needs none.

    A triage network learns the triage of a run of the loss "triage"; its option classifier names that run's folder,
    beside its own. A run that continues from a checkpoint uses the numbers that `save_numbers` kept with it: computed
    again, a near tie between expert and machine may go the other way.

    ValueError where the expert's loss is not known, and where the classifier is not done, or another run.
    """
    find = _FIND.get(config.surrogate)
    if find is None:
        return None
    kept = load_numbers(folder) if (Path(folder) / CHECKPOINT).exists() else None
    if kept is not None and (len(kept.train), len(kept.validation)) == (len(splits.train), len(splits.validation)):
        return kept
    numbers_of = find(_Request(config, splits, Path(data_root), Path(folder), device))
    return CaseNumbers(*(_as_numbers(numbers_of(data)) for data in (splits.train, splits.validation)))


def save_numbers(folder: str | os.PathLike, numbers: CaseNumbers) -> None:
    """Keep the numbers of a run in its folder, whole or not at all. OSError where they cannot be written."""
    path = Path(folder) / NUMBERS
    path.parent.mkdir(exist_ok=True)
    save_arrays(path, {"train": numbers.train.numpy(), "validation": numbers.validation.numpy()})


def load_numbers(folder: str | os.PathLike) -> CaseNumbers | None:
    """The numbers kept in the folder of a run; None where there are none that can be read."""
    try:
        arrays = load_arrays(Path(folder) / NUMBERS, MAX_BYTES)
    except (OSError, ValueError):
        return None
    parts = [arrays.get(name, np.empty(0)) for name in ("train", "validation")]
    return CaseNumbers(*map(torch.from_numpy, parts)) if all(_are_numbers(part) for part in parts) else None


def _are_numbers(values: np.ndarray) -> bool:
    return values.ndim == 1 and len(values) > 0 and values.dtype == np.float32 and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class _Request:
    """The arguments of `find_numbers`."""

    config: RunConfig
    splits: Splits
    data_root: Path
    folder: Path
    device: torch.device


NumbersOf = Callable[[DeferralData], np.ndarray]  # cases -> (N,)


def _as_numbers(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))


def _expert_right(request: _Request) -> NumbersOf:
    """How often the expert is right, from the training cases."""
    train = request.splits.train
    share = float((train.answers == train.labels[:, None]).double().mean())
    return lambda data: np.full(len(data), share)


def _expert_loss(request: _Request) -> NumbersOf:
    return lambda data: expert_loss(expert_probability(request.config, data, request.data_root))


def _best_triage(request: _Request) -> NumbersOf:
    """The triage within the run's budget of a part of the cases, by the losses of its classifier and of the expert."""
    run = _classifier(request.config, request.folder)
    model, losses, config = run.load_model().to(request.device), _expert_loss(request), request.config
    budget = float(run.config.surrogate_options.get("budget", BUDGET["budget"]))
    how = {"batch_size": config.batch_size, "device": request.device, "channels_last": config.channels_last}

    def triage(data: DeferralData) -> np.ndarray:
        machine = class_loss(predict(model, data.inputs, **how).double(), data.labels)
        return best_triage(machine.numpy(), losses(data), budget)

    return triage


def _classifier(config: RunConfig, folder: Path) -> Run:
    """The run whose triage is learned: its settings are the same, except for the loss."""
    options = dict(config.surrogate_options)
    name = str(options.pop("classifier", ""))
    if Path(name).name != name or name in ("", ".."):
        raise ValueError(f"classifier must name the folder of a run beside that of the triage network, got {name!r}")
    place = folder.parent / name
    if not is_done(place, replace(config, surrogate="triage", surrogate_options=options)):
        raise ValueError(f"the classifier in {place} is not done: train it before its triage network")
    return open_run(place, LOSSES)


_FIND = {"confidence": _expert_right, "triage": _expert_loss, "triage_network": _best_triage}
