"""All runs in a folder as one table, quickly: what was read of a run is kept until one of its files changes."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from l2d_core.common.files import open_regular, write_whole
from l2d_core.common.json_fields import flatten
from l2d_core.common.paths import links_out
from l2d_core.runs.folder import (
    CONFIG,
    ENVIRONMENT,
    HISTORY,
    RESULTS,
    read_config,
    read_environment,
    read_history,
    read_scores,
)
from l2d_core.runs.table import run_measures

INDEX = ".index.json"
INDEX_VERSION = 2
COLUMNS = (
    "run",
    "folder",
    "state",
    "problem",
    "settings",
    "measures",
    "epochs_done",
    "test_cases",
    "wall_seconds",
    "device",
    "changed",
)
_WATCHED = (CONFIG, ENVIRONMENT, *RESULTS)


def index_runs(root: str | os.PathLike, *, on_progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """One row per run in the folders of a folder, by name; none where there is no folder. Columns: COLUMNS.

    state as in `runs.STATES`, "" where it cannot be read; problem: why its test scores cannot be read, or "".
    settings: the configuration, objects in objects as names with dots; measures: as in `table.run_measures`;
    both are empty where they cannot be read, epochs_done and the other numbers are None. changed: seconds since 1970
    of its youngest file.

    What was read is kept in root/.index.json, if that can be written. A file there that is not ours is read as if it
    were missing. on_progress: called with (runs read, runs to read) as those that changed are read.
    """
    root = Path(root)
    marks = {name: mark for name, mark in _marks(root).items() if mark[0] is not None}
    known = _read_index(root)
    rows = {name: known[name]["row"] for name, mark in marks.items() if known.get(name, {}).get("mark") == mark}
    new = [name for name in marks if name not in rows]
    for count, name in enumerate(new):
        rows[name] = _row(root / name, marks[name])
        if on_progress:
            on_progress(count + 1, len(new))
    if new or set(known) != set(rows):
        _write_index(root, {name: {"mark": marks[name], "row": rows[name]} for name in rows})
    table = [{"run": name, "folder": str(root / name), **rows[name]} for name in sorted(rows)]
    return pd.DataFrame(table, columns=list(COLUMNS), dtype=object)


def differing_settings(table: pd.DataFrame) -> list[str]:
    """The settings that are not the same in all runs of a table of `index_runs`, in the order of the configuration."""
    settings = [one for one in table["settings"] if one]
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if len({json.dumps(one.get(name)) for one in settings}) > 1]


def _marks(root: Path) -> dict[str, list[Any]]:
    """What shows that a run has changed: the time and the size of each of its files, or None where one is missing."""
    if not root.is_dir():
        return {}
    with os.scandir(root) as entries:
        folders = [entry.name for entry in entries if not entry.name.startswith(".") and _is_inside(entry, root)]
    return {name: [_stamp(root / name / file) for file in _WATCHED] for name in folders}


def _is_inside(entry: os.DirEntry, root: Path) -> bool:
    """Whether an entry of root is a folder that leads nowhere else, and that this program may look into."""
    try:
        return entry.is_dir() and not links_out(Path(entry.path), root)
    except OSError:  # also where it is deleted at this moment
        return False


def _stamp(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def _row(folder: Path, mark: list[Any]) -> dict[str, Any]:
    changed = max(stamp[0] for stamp in mark if stamp) / 1e9
    row: dict[str, Any] = {"state": "", "problem": "", "settings": {}, "measures": {}, "changed": changed}
    try:
        row["settings"] = flatten(json.loads(read_config(folder).to_json()))
        environment = read_environment(folder)
        row |= {name: environment.get(name) for name in ("state", "wall_seconds", "device")}
        if (folder / HISTORY).is_file():
            row["epochs_done"] = len(read_history(folder))
        if row["state"] != "running":
            test, _ = read_scores(folder)
            row |= {"test_cases": len(test), "measures": run_measures(test)}
    except (ValueError, OSError) as problem:
        row["problem"] = str(problem)
    return row


def _read_index(root: Path) -> dict[str, Any]:
    try:
        with open_regular(root / INDEX) as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("version") != INDEX_VERSION:
        return {}
    runs = content.get("runs")
    return {name: one for name, one in runs.items() if _is_ours(one)} if isinstance(runs, dict) else {}


def _is_ours(entry: Any) -> bool:
    row = entry.get("row") if isinstance(entry, dict) else None
    return (
        isinstance(row, dict)
        and set(row) <= set(COLUMNS)
        and isinstance(row.get("settings"), dict)
        and isinstance(row.get("measures"), dict)
    )


def _write_index(root: Path, runs: Mapping[str, Any]) -> None:
    with suppress(OSError):  # on a disk that is full, or cannot be written, all is read again the next time
        write_whole(root / INDEX, json.dumps({"version": INDEX_VERSION, "runs": runs}).encode())
