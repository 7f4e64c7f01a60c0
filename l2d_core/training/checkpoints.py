"""The state of a training after an epoch, in one file: tensors and plain values, written whole or not at all."""

import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from l2d_core.evaluation.epoch_report import EpochReport

CHECKPOINT_VERSION = 1
_WHAT_TO_DO = "delete it to train from the start, or put back a copy of it"


@dataclass(frozen=True)
class Checkpoint:
    """All that a training needs to continue after an epoch as if nothing had happened.

    settings: what decides the run, the data included, as plain values; a training continues only under the same ones.
    history: the epochs so far. weights and optimizer: state dicts after the last of them. best_weights: those of
    the epoch with the lowest validation loss. Random numbers depend on the seed and the epoch alone, so that there
    is no state of a generator to keep.
    """

    settings: dict[str, Any]
    history: list[EpochReport]
    weights: dict[str, Tensor]
    best_weights: dict[str, Tensor]
    optimizer: dict[str, Any]


def save_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint) -> None:
    """Write a checkpoint in place of the one before, which stays until the new one is whole on the disk.

    OSError names the file and what to do where it cannot be written (a full disk, say).
    """
    path = Path(path)
    content = {field.name: getattr(checkpoint, field.name) for field in fields(checkpoint)}
    content["history"] = [asdict(report) for report in checkpoint.history]
    buffer = io.BytesIO()
    torch.save({"version": CHECKPOINT_VERSION, **content}, buffer)
    try:
        _replace(path, buffer.getbuffer())
    except OSError as problem:
        raise OSError(
            f"the checkpoint {path} cannot be written: {problem.strerror or problem}. What was stored before is still "
            "there: make room, or see to the folder, and start the run again to go on from there"
        ) from problem


def load_checkpoint(path: str | os.PathLike, settings: Mapping[str, Any] | None = None) -> Checkpoint:
    """Read what `save_checkpoint` wrote, all tensors on the CPU; no pickled object is ever run.

    settings: those of the training that continues; None to take the file's.
    ValueError names the file, and what to do, where it is damaged, of another version, or of other settings.
    FileNotFoundError where there is none.
    """
    content = _read(Path(path))
    if content["version"] != CHECKPOINT_VERSION:
        raise ValueError(
            f"the checkpoint {path} has version {content['version']!r}, and this program reads version "
            f"{CHECKPOINT_VERSION}: {_WHAT_TO_DO}"
        )
    if settings is not None:
        _require_same(path, content["settings"], settings)
    try:
        history = [EpochReport(**report) for report in content["history"]]
        return Checkpoint(
            content["settings"], history, content["weights"], content["best_weights"], content["optimizer"]
        )
    except (KeyError, TypeError) as problem:
        raise ValueError(f"the checkpoint {path} lacks a part ({problem}): {_WHAT_TO_DO}") from problem


def _replace(path: Path, content: memoryview) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the new name itself on the disk, where the system can open folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # torch itself does not compare checksums
        if damaged is not None:
            raise ValueError(f"checksum of {damaged}")
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, dict) or "version" not in content:
            raise ValueError("it holds something else")
        return content
    except FileNotFoundError:
        raise
    except Exception as problem:  # torch has many ways to say so
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"the checkpoint {path} cannot be read ({reason}): {_WHAT_TO_DO}") from problem


def _require_same(path: str | os.PathLike, stored: Any, wanted: Mapping[str, Any]) -> None:
    stored = stored if isinstance(stored, dict) else {}
    different = [
        f"{name} ({stored.get(name, 'nothing')!r} there, {wanted.get(name, 'nothing')!r} now)"
        for name in dict.fromkeys([*wanted, *stored])
        if stored.get(name, "nothing") != wanted.get(name, "nothing")
    ]
    if different:
        raise ValueError(
            f"the checkpoint {path} is of another run: {', '.join(different)}. Go on with the settings and data that "
            "it was made with, or use another folder"
        )
