"""A run is a folder: its settings, environment, history (one row per epoch), scores, weights and checkpoint.

Each file is written completely or not at all, config.json first and environment.json, with the final state, last.
"""

import csv
import json
import math
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from l2d_core.common.checks import brief
from l2d_core.common.files import named_when_it_fails, write_whole
from l2d_core.common.json_fields import parse_json, read_text_file
from l2d_core.config import MAX_EPOCHS, RunConfig
from l2d_core.data import Scores
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.models.weights import load_weights
from l2d_core.surrogates import SURROGATES

RUN_VERSION = 1
CONFIG, ENVIRONMENT, HISTORY = "config.json", "environment.json", "history.csv"
VALIDATION, TEST, WEIGHTS = "scores_validation.npz", "scores_test.npz", "model.safetensors"
RESULTS = (HISTORY, VALIDATION, TEST, WEIGHTS)
CHECKPOINT = "checkpoint/training.pt"  # only for resuming: a run can be shipped without it
MAX_HISTORY_BYTES = 320 * MAX_EPOCHS  # an epoch takes about 170
MAX_SECONDS = 1e10  # that a run took: some three hundred years
SPLIT_NOTES = ("split", "split_warning")  # in the environment: the cases of each part, and a warning
STATES = ("running", "stopped", "done")  # "running" also if the program was killed; "stopped" can be resumed


@dataclass(frozen=True)
class Run:
    """A run that has ended: its settings and results.

    environment: where it ran, its state, and wall_seconds, summed over all its starts. history: the fields of
    `EpochReport`, one row per epoch. validation, test: scores by the weights of the best epoch, in float32.
    """

    folder: Path
    config: RunConfig
    environment: dict[str, Any]
    history: pd.DataFrame
    validation: Scores
    test: Scores

    @property
    def is_done(self) -> bool:
        """Whether training finished by itself, rather than being stopped."""
        return self.environment["state"] == "done"

    def load_model(self) -> nn.Module:
        """The trained network, on the CPU and in evaluation mode; ValueError if the file is damaged."""
        return load_weights(self.folder / WEIGHTS)[0]


@dataclass(frozen=True)
class RunEntry:
    """A run in a list: its settings if they can be read, its state, the epochs done, and what is wrong."""

    folder: Path
    config: RunConfig | None
    state: str
    epochs: int
    problem: str = ""


def open_run(folder: str | os.PathLike, surrogates: Collection[str] = SURROGATES) -> Run:
    """Open a run that has ended; surrogates: the names that its surrogate may have.

    FileNotFoundError if there is no folder; ValueError names a file that is missing, damaged, of another version or
    of another run, or says that the run has not ended.
    """
    folder = Path(folder)
    config, environment = _require_ended(folder, RESULTS)
    scores = _load_scores(folder, config, (VALIDATION, TEST), surrogates)
    return Run(folder, config, environment, read_history(folder), scores[VALIDATION], scores[TEST])


def read_scores(folder: str | os.PathLike) -> tuple[Scores, Scores | None]:
    """The test scores of a run that has ended, and its validation scores, or None if that file is missing.

    Errors as in `open_run`.
    """
    folder = Path(folder)
    config, _ = _require_ended(folder, [name for name in RESULTS if name != VALIDATION])
    names = [name for name in (VALIDATION, TEST) if (folder / name).is_file()]
    scores = _load_scores(folder, config, names)
    return scores[TEST], scores.get(VALIDATION)


def verify_run(folder: str | os.PathLike) -> Run:
    """`open_run`, and checks that the weights fit the network and the scores, and that all epochs are in order."""
    run = open_run(folder)
    if list(run.history["epoch"]) != list(range(1, len(run.history) + 1)) or len(run.history) > run.config.epochs:
        raise ValueError(f"{run.folder / HISTORY} must have a row for each epoch from 1 to {run.config.epochs} at most")
    _, network = load_weights(run.folder / WEIGHTS)
    wanted = (run.config.model, run.validation.class_names, run.validation.expert_names)
    got = (network.model, network.class_names, network.expert_names)
    if got != wanted:
        raise ValueError(f"{run.folder / WEIGHTS} is of another run: model, classes, experts are {got}, not {wanted}")
    return run


def list_runs(root: str | os.PathLike) -> list[RunEntry]:
    """The runs in the subfolders of a folder, by name, including those that cannot be opened."""
    root = Path(root)
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [_entry(folder) for folder in folders if (folder / CONFIG).is_file()]


def begin_run(folder: str | os.PathLike, config: RunConfig) -> None:
    """Make the folder of a run, or check that it holds the same run, in order to resume it.

    ValueError if it holds other files, or a run with other settings, which are named; OSError if it cannot be made.
    """
    folder = Path(folder)
    if (folder / CONFIG).exists():
        _require_same(folder, read_config(folder), config)
        return
    if folder.is_dir() and any(path.suffix != ".part" for path in folder.iterdir()):
        raise ValueError(f"{folder} holds other files, and no run: name a new folder, or that of the same run")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / CONFIG, config.to_json().encode())


def is_done(folder: str | os.PathLike, config: RunConfig) -> bool:
    """Whether the folder holds this run and its training finished. Errors as in `begin_run`."""
    folder = Path(folder)
    if not (folder / CONFIG).exists():
        return False
    _require_same(folder, read_config(folder), config)
    return read_environment(folder)["state"] == "done"


def save_progress(
    folder: str | os.PathLike, history: Sequence[EpochReport], environment: dict[str, Any], state: str
) -> None:
    """Write the epochs so far, and the environment with the state, one of STATES."""
    columns = [field.name for field in fields(EpochReport)]
    table = pd.DataFrame([asdict(report) for report in history], columns=columns)
    write_whole(Path(folder) / HISTORY, table.to_csv(index=False).encode())
    content = {"version": RUN_VERSION, "state": state, **environment}
    write_whole(Path(folder) / ENVIRONMENT, json.dumps(content, indent=2).encode())


def save_results(folder: str | os.PathLike, validation: Scores, test: Scores, weights: bytes) -> None:
    """Write the scores, and the weights in the format of `encode_weights`."""
    for name, scores in ((VALIDATION, validation), (TEST, test)):
        with named_when_it_fails(Path(folder) / name) as path:
            scores.save(path)
    write_whole(Path(folder) / WEIGHTS, weights)


def copy_results(folder: str | os.PathLike, target: str | os.PathLike) -> None:
    """Copy a run that has ended, without its checkpoint, to the folder `target`, replacing a run there."""
    Path(target).mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, *RESULTS, ENVIRONMENT):
        write_whole(Path(target) / name, (Path(folder) / name).read_bytes())


def read_config(folder: str | os.PathLike) -> RunConfig:
    """The settings of the run in a folder, ended or not. Errors as in `open_run`."""
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"there is no folder {os.fspath(folder)}")
    if not (Path(folder) / CONFIG).is_file():
        raise ValueError(f"{os.fspath(folder)} is not the folder of a run: it lacks {CONFIG}")
    return RunConfig.load(Path(folder) / CONFIG)


def read_environment(folder: str | os.PathLike) -> dict[str, Any]:
    """The environment of the run in a folder, with its state and wall_seconds. Errors as in `open_run`."""
    path = Path(folder) / ENVIRONMENT
    if not path.is_file():
        return {"state": "running", "wall_seconds": 0.0}
    content = parse_json(read_text_file(path, str(path)), str(path))
    version = content.get("version") if isinstance(content, dict) else None
    if version != RUN_VERSION:
        raise ValueError(
            f"{path} has version {brief(version)}, and this program reads version {RUN_VERSION}: use the one that "
            "wrote it"
        )
    seconds = content.get("wall_seconds")
    if content.get("state") not in STATES or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SECONDS:
        raise ValueError(
            f"{path} must say state, one of {', '.join(STATES)}, and wall_seconds, a number of 0 to {MAX_SECONDS:.0e}"
        )
    return content


def split_notes(environment: dict[str, Any]) -> tuple[str, ...]:
    """The SPLIT_NOTES of an environment, "" for each that is missing."""
    found = (environment.get(name) for name in SPLIT_NOTES)
    return tuple(text[:1000] if isinstance(text, str) else "" for text in found)


def read_history(folder: str | os.PathLike) -> pd.DataFrame:
    """The history of the run in a folder: the fields of `EpochReport`, one row per epoch. Errors as in `open_run`."""
    path = Path(folder) / HISTORY
    columns = [field.name for field in fields(EpochReport)]
    try:
        header, *rows = csv.reader(read_text_file(path, "it", MAX_HISTORY_BYTES).splitlines() or [""])
        if header != columns:
            raise ValueError(f"the columns must be {', '.join(columns)}, got {', '.join(header)}")
        short = next((place for place, row in enumerate(rows, 2) if len(row) != len(columns)), None)
        if short is not None:
            raise ValueError(f"a line must have {len(columns)} fields, got {len(rows[short - 2])} in line {short}")
        reports = [[_READ.get(name, _number)(cell) for name, cell in zip(columns, row, strict=True)] for row in rows]
    except (ValueError, csv.Error) as problem:
        raise ValueError(f"{path} is no table of epochs: {problem}") from problem
    return pd.DataFrame(reports, columns=columns)


def _number(cell: str) -> float:
    return float(cell) if cell else math.nan


_READ = {"epoch": int, "reference": "True".__eq__}  # the other columns are numbers, to the last digit


def _entry(folder: Path) -> RunEntry:
    config, state, epochs = None, "", 0
    try:
        config = read_config(folder)
        state = read_environment(folder)["state"]
        epochs = len(read_history(folder)) if (folder / HISTORY).is_file() else 0
        if state != "running":
            open_run(folder)
    except (ValueError, OSError) as problem:
        return RunEntry(folder, config, state, epochs, str(problem))
    return RunEntry(folder, config, state, epochs)


def _require_same(folder: Path, stored: RunConfig, wanted: RunConfig) -> None:
    different = [
        f"{field.name} ({getattr(stored, field.name)!r} there, {getattr(wanted, field.name)!r} now)"
        for field in fields(RunConfig)
        if getattr(stored, field.name) != getattr(wanted, field.name)
    ]
    if different:
        raise ValueError(f"{folder} holds a run with other settings: {', '.join(different)}. Name another folder")


def _require_ended(folder: Path, wanted: Sequence[str]) -> tuple[RunConfig, dict[str, Any]]:
    """The settings and environment of a run that has ended and has these files. Errors as in `open_run`."""
    config, environment = read_config(folder), read_environment(folder)
    missing = [name for name in wanted if not (folder / name).is_file()]
    if environment["state"] == "running":
        epochs = 0 if HISTORY in missing else len(read_history(folder))
        raise ValueError(
            f"the run {folder} has not ended, {epochs} of {config.epochs} epochs are done: wait for it, or, "
            "if nothing is running it, start it again to go on"
        )
    if missing:
        raise ValueError(f"the run {folder} lacks {', '.join(missing)}: put them back, or run it in another folder")
    return config, environment


def _load_scores(
    folder: Path, config: RunConfig, names: Sequence[str], surrogates: Collection[str] = SURROGATES
) -> dict[str, Scores]:
    scores = {name: Scores.load(folder / name, surrogates) for name in names}
    for name, one in scores.items():
        if one.surrogate != config.surrogate:
            raise ValueError(
                f"{folder / name} is of another run: its surrogate is {one.surrogate[:80]}, not {config.surrogate}"
            )
    if len({one.class_names for one in scores.values()}) > 1:
        raise ValueError(f"{folder / VALIDATION} and {TEST} must have the same classes")
    return scores
