"""Which runs can be compared: those that are shipped and those of this server, by names that an address can hold."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from app.jobs.folder import JOB, read_record, without_path
from l2d_core.common.paths import PRETRAINED, RUNS_ROOT
from l2d_core.comparison.systems import System
from l2d_core.runs.folder import read_scores
from l2d_core.runs.index import index_runs

MAX_SYSTEMS = 6
HERE = "here"  # the word for the runs of this server, as in ROOTS
# Where runs lie -> the word for it in an address. A run is found by looking it up in the lists of these folders, never
# by putting its name into a path.
ROOTS: dict[str, tuple[Path, ...]] = {
    "shipped": (PRETRAINED / "runs", PRETRAINED / "ham10000"),
    HERE: (RUNS_ROOT,),
}
ORIGIN = {"shipped": "shipped", HERE: "run"}  # as a `System` has it
FIRST = ("shipped/cifar10-softmax", "shipped/cifar10-one_vs_all")  # what is shown where nothing is chosen
UNDONE = "it has not ended yet: there are no scores before that"


@dataclass(frozen=True)
class RunKey:
    """A run's name in an address: where it lies, and its folder's name."""

    root: str
    folder: str

    def __str__(self) -> str:
        return f"{self.root}/{self.folder}"

    @classmethod
    def read(cls, text: str) -> "RunKey | None":
        """The key in a text; None where it is none."""
        root, _, folder = text.partition("/")
        return cls(root, folder) if root in ROOTS and folder and "/" not in folder else None


def list_runs(on_progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """All runs: the columns of `index_runs`, with key, root and name; problem says why one cannot be chosen.

    changed counts a new name too: what pages keep of a run, by its key and this time, shows the name.
    on_progress as in `index_runs`, for one folder of runs after the other.
    """
    parts = []
    for word, roots in ROOTS.items():
        for root in roots:
            part = index_runs(root, on_progress=on_progress)
            part["key"] = [f"{word}/{run}" for run in part["run"]]
            part["root"] = word
            part["name"] = [_name(Path(folder)) for folder in part["folder"]]
            part["changed"] = [max(row["changed"], _named_at(Path(row["folder"]))) for row in part.to_dict("records")]
            part["problem"] = [_problem(root, row) for row in part.to_dict("records")]
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _problem(root: Path, row: dict) -> str:
    if row["problem"]:
        return without_path(root, row["problem"])
    return "" if (row["test_cases"] or 0) > 0 else UNDONE  # NaN, where it is not known, is not above 0


def _name(folder: Path) -> str:
    """The name that its owner gave a training; else that of the folder."""
    if not (folder / JOB).is_file():
        return folder.name
    try:
        return read_record(folder).name
    except (ValueError, OSError):
        return folder.name


def _named_at(folder: Path) -> float:
    """When the file with a training's name was written, in seconds since 1970; 0 for a run without one."""
    try:
        return (folder / JOB).stat().st_mtime
    except OSError:
        return 0.0


def load_system(row: dict) -> System:
    """The system of a row of `list_runs`, without validation scores where the run lacks them.

    ValueError, without paths of this machine, where it cannot be read.
    """
    folder = Path(row["folder"])
    try:
        test, validation = read_scores(folder)
    except (OSError, ValueError) as problem:
        raise ValueError(without_path(folder.parent, problem)) from problem
    return System(row["name"], test, validation, ORIGIN[row["root"]], row["settings"])
