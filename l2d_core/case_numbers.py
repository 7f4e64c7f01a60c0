"""What a loss is told of each case of a run beside its label: how good the expert is, or what the best triage does."""

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
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.prediction import predict
from l2d_core.run_data import right_probability
from l2d_core.runs import Run, is_done, open_run
from l2d_core.training_job import CaseNumbers


def find_numbers(
    config: RunConfig,
    splits: Splits,
    data_root: str | os.PathLike,
    folder: str | os.PathLike,
    device: torch.device,
) -> CaseNumbers | None:
    """The numbers that the loss of a run in this folder is told of its cases; None for a loss that needs none.

    A triage network learns the triage of a run of the loss "triage", the name of whose folder, beside its own, is its
    option classifier. ValueError where the expert's loss is not known, and where that run is not done, or another one.
    """
    find = _FIND.get(config.surrogate)
    if find is None:
        return None
    told = find(_Asked(config, splits, Path(data_root), Path(folder), device))
    return CaseNumbers(*(_as_numbers(told(data)) for data in (splits.train, splits.validation)))


@dataclass(frozen=True)
class _Asked:
    """The arguments of `find_numbers`."""

    config: RunConfig
    splits: Splits
    data_root: Path
    folder: Path
    device: torch.device


Told = Callable[[DeferralData], np.ndarray]  # cases -> (N,)


def _as_numbers(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))


def _expert_right(asked: _Asked) -> Told:
    """How often the expert is right, from the training cases."""
    train = asked.splits.train
    share = float((train.answers == train.labels[:, None]).double().mean())
    return lambda data: np.full(len(data), share)


def _expert_loss(asked: _Asked) -> Told:
    return lambda data: expert_loss(right_probability(asked.config, data, asked.data_root))


def _best_triage(asked: _Asked) -> Told:
    """The triage within the run's budget of a part of the cases, by the losses of its classifier and of the expert."""
    run = _classifier(asked.config, asked.folder)
    model, losses, config = run.load_model().to(asked.device), _expert_loss(asked), asked.config
    budget = float(run.config.surrogate_options.get("budget", BUDGET["budget"]))
    how = {"batch_size": config.batch_size, "device": asked.device, "channels_last": config.channels_last}

    def triage(data: DeferralData) -> np.ndarray:
        machine = class_loss(predict(model, data.inputs, **how).double(), data.labels)
        return best_triage(machine.numpy(), losses(data), budget)

    return triage


def _classifier(config: RunConfig, folder: Path) -> Run:
    """The run whose triage is to be learned: of the same settings, but for the loss."""
    options = dict(config.surrogate_options)
    name = str(options.pop("classifier", ""))
    if Path(name).name != name or name in ("", ".."):
        raise ValueError(f"classifier must name the folder of a run beside that of the triage network, got {name!r}")
    place = folder.parent / name
    if not is_done(place, replace(config, surrogate="triage", surrogate_options=options)):
        raise ValueError(f"the classifier in {place} is not done: train it before its triage network")
    return open_run(place, LOSSES)


_FIND = {"confidence": _expert_right, "triage": _expert_loss, "triage_network": _best_triage}
