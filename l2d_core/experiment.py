"""One experiment, from its settings to a run in a folder: the whole story on one screen."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from l2d_core.baselines.case_numbers import find_numbers, save_numbers
from l2d_core.baselines.network_losses import LOSSES
from l2d_core.common.checks import require_known
from l2d_core.common.environment import describe_environment, pick_device
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Scores, Splits
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.models import MODELS
from l2d_core.models.prediction import predict
from l2d_core.models.weights import Network, encode_weights, halve_precision, load_weights, to_eight_bits
from l2d_core.runs.cases import describe_split, load_splits
from l2d_core.runs.folder import (
    CHECKPOINT,
    SPLIT_NOTES,
    WEIGHTS,
    Run,
    begin_run,
    copy_results,
    is_done,
    open_run,
    read_environment,
    save_progress,
    save_results,
)
from l2d_core.training.checkpoints import load_checkpoint
from l2d_core.training.loop import TrainingDiverged, has_ended, train
from l2d_core.training.setup import OnStep


class NothingTrained(RuntimeError):
    """A run was stopped before its first epoch was done, so that there is nothing to score."""


def run_experiment(
    config: RunConfig,
    *,
    data_root: str | os.PathLike,
    device: str = "auto",
    folder: str | os.PathLike,
    on_epoch: Callable[[EpochReport], bool | None] | None = None,
    on_step: OnStep | None = None,
) -> Run:
    """Train a system as the config says, score its best model, and keep everything in a folder (see `runs`).

    Called again with the same folder it continues after the last finished epoch; a run that is done is returned as
    it is. Where on_epoch or on_step returns False training stops, and the best model so far is scored and kept; the
    same happens before KeyboardInterrupt or TrainingDiverged is passed on. All of these runs can be continued.

    data_root: the folder of the data sets; device: as in `pick_device`; on_epoch, on_step: as in `train`.
    ValueError, FileNotFoundError or OSError where settings, data or folder cannot be used; NothingTrained where
    training stops in the first epoch.
    """
    start, target, folder = time.monotonic(), pick_device(device), Path(folder)
    require_known("surrogate", config.surrogate, LOSSES)
    require_known("model", config.model, MODELS)
    if is_done(folder, config):
        return open_run(folder, LOSSES)
    splits = load_splits(config, data_root)
    model = (network := _network_for(splits.train, config)).build(seed=config.seed)
    numbers = find_numbers(config, splits, data_root, folder, target)
    begin_run(folder, config)
    if numbers is not None:
        save_numbers(folder, numbers)
    split = zip(SPLIT_NOTES, describe_split(config, splits, data_root), strict=True)
    record = _recorder(folder, target, start, {name: text for name, text in split if text})
    history = _stored_history(folder)
    record(history, "running")

    def after_epoch(report: EpochReport) -> bool | None:
        history.append(report)
        record(history, "running")
        return on_epoch(report) if on_epoch is not None else None

    fit = partial(train, model, LOSSES[config.surrogate], splits, config, device=target, numbers=numbers)
    problem = _problem_of(partial(fit, checkpoint=folder / CHECKPOINT, on_epoch=after_epoch, on_step=on_step))
    history = _stored_history(folder)
    if not history:
        raise problem or NothingTrained(f"{folder} was stopped in its first epoch: start it again to train")
    _keep_results(folder, model, network, lambda data: _score(model, data, config, target), splits)
    record(history, "done" if has_ended(history, config) else "stopped")
    if problem is not None:
        raise problem
    return open_run(folder, LOSSES)


def _problem_of(training: Callable[[], object]) -> BaseException | None:
    """Train; what ended it before its time, if anything did: the model has its best weights all the same."""
    try:
        training()
    except (KeyboardInterrupt, TrainingDiverged) as problem:
        return problem
    return None


def _keep_results(
    folder: Path, model: nn.Module, network: Network, score: Callable[[DeferralData], Scores], splits: Splits
) -> None:
    """The weights in half precision, and the scores of the model that has them."""
    halve_precision(model)
    save_results(folder, score(splits.validation), score(splits.test), encode_weights(model, network))


def copy_in_eight_bits(
    folder: str | os.PathLike, target: str | os.PathLike, *, data_root: str | os.PathLike, device: str = "auto"
) -> Run:
    """Copy a run that has ended, its large weights rounded by `to_eight_bits`, with the scores of those weights.

    Half the room of half precision. Logits are kept to a relative error of 2^-16, in a fifth less room: a decision
    changes only where two scores were that close. Errors as in `open_run` and `run_experiment`.
    """
    run, place = open_run(folder), pick_device(device)
    model, network = load_weights(run.folder / WEIGHTS)
    to_eight_bits(model)
    splits = load_splits(run.config, data_root)
    validation, test = (_score(model, data, run.config, place) for data in (splits.validation, splits.test))
    copy_results(folder, target)
    save_results(target, _short(validation), _short(test), encode_weights(model, network))
    return open_run(target)


def _network_for(cases: DeferralData, config: RunConfig) -> Network:
    shape = tuple(cases.inputs.shape[1:])
    return Network(config.model, shape, cases.class_names, cases.expert_names, config.model_options)


def _short(scores: Scores) -> Scores:
    """Logits as float32 whose last 8 bits are 0, rounded half up: they can be packed."""
    bits = scores.logits.astype(np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x80)) & np.uint32(0xFFFFFF00)).view(np.float32)
    return replace(scores, logits=rounded)


def _recorder(
    folder: Path, device: torch.device, start: float, notes: dict[str, str]
) -> Callable[[Sequence[EpochReport], str], None]:
    """A function that writes history, state and notes, with the time since start and that of earlier starts."""
    environment = describe_environment(device) | notes
    earlier = read_environment(folder)["wall_seconds"]

    def record(history: Sequence[EpochReport], state: str) -> None:
        wall_seconds = round(earlier + time.monotonic() - start, 3)
        save_progress(folder, history, {**environment, "wall_seconds": wall_seconds}, state)

    return record


def _stored_history(folder: Path) -> list[EpochReport]:
    checkpoint = folder / CHECKPOINT
    return load_checkpoint(checkpoint).history if checkpoint.exists() else []


def _score(model: nn.Module, data: DeferralData, config: RunConfig, device: torch.device) -> Scores:
    """The model on all cases, in float32, so that the scores do not depend on the device's bfloat16."""
    logits = predict(
        model,
        data.inputs,
        batch_size=config.batch_size,
        device=device,
        channels_last=config.channels_last,
        batch_statistics=config.reference,
    )
    return Scores.from_data(data, logits.numpy(), surrogate=config.surrogate)
