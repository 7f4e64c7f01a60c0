"""Predictions from a visitor's files, which become systems once their columns are explained; and the server's files."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from l2d_core.common.file_kinds import NPZ, ZIP, describe_file, describe_json
from l2d_core.common.files import open_regular
from l2d_core.comparison.author_logs import LoggedOutputs, read_logged
from l2d_core.comparison.mapped_tables import Columns, guess_columns, import_table, read_predictions
from l2d_core.comparison.systems import System
from l2d_core.data import Scores
from l2d_core.images.opening import safe_name

MAX_FILE_BYTES = 200 * 2**20  # as .streamlit/config.toml has it
MAX_UNPACKED_BYTES = 600 * 2**20  # of an .npz
MAX_CASES = 1_000_000  # in a file; comparing them takes several times their size
MAX_HELD_BYTES = 2**30  # of a session's files, as they lie in memory
MAX_JSON_BYTES = 16 * 2**20  # parsing takes many times this size
MAX_FILES = 24  # in a session
MAX_LEVELS, MAX_COLUMNS = 200, 20  # of columns to group by; ages in years have up to 120 values
PROBABILITIES, FLAGS = "_confs", "_acc"  # how the authors' two files of a system end
SERVER_ENDINGS = (".npz", ".csv", ".parquet", ".json")
MAX_DEPTH, MAX_LISTED = 4, 500


@dataclass(frozen=True)
class Waiting:
    """A file that was read and has to be explained: a table with columns to map, or the authors' two files."""

    name: str
    table: pd.DataFrame | None = None
    guess: Columns | None = None
    pair: tuple[bytes, bytes] | None = None


@dataclass
class Uploads:
    """The uploads of a session. waiting: key -> file to be explained; ready: key -> predictions.

    parts: name -> JSON file whose other half is missing; validation_of: key -> key of the system whose validation
    predictions it holds.
    """

    waiting: dict[str, Waiting] = field(default_factory=dict)
    ready: dict[str, System] = field(default_factory=dict)
    parts: dict[str, bytes] = field(default_factory=dict)
    validation_of: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def add(self, data: bytes, name: str) -> str | None:
        """Add a file, recognised by its content; ValueError if it is refused.

        Returns its key, or None while its other half is missing.
        """
        name = safe_name(name)
        if len(data) > MAX_FILE_BYTES:
            raise ValueError(f"{name} must have at most {MAX_FILE_BYTES // 2**20} MB, got {len(data) / 2**20:,.0f}")
        if len(self.waiting) + len(self.ready) + len(self.parts) >= MAX_FILES:
            raise ValueError(f"{name} was not taken: at most {MAX_FILES} files at a time. Remove some first")
        if data[:2] == b"PK":
            _require_arrays(data, name)
            return self._put(self.ready, System(_stem(name), _load(data, name), origin="upload"))
        if data.lstrip()[:2].lstrip(b'"')[:1] in (b"[", b"{"):  # some of the authors' files hold JSON in a JSON string
            return self._add_json(data, name)
        table = read_predictions(data, name, max_rows=MAX_CASES)
        return self._put(self.waiting, Waiting(_stem(name), table, guess_columns(table)))

    def explain_table(self, key: str, columns: Columns, **meaning: Any) -> tuple[str, ...]:
        """Turn a waiting table into a system, and return what to note; arguments and ValueError as `import_table`."""
        waiting = self.waiting[key]
        assert waiting.table is not None
        made = import_table(waiting.table, columns, **meaning)
        settings = {"surrogate": made.scores.surrogate, "numbers": meaning["domain"]}
        others = _groupable(waiting.table.drop(columns=[name for name in columns.all if name]))
        self.ready[key] = System(waiting.name, made.scores, origin="upload", settings=settings, columns=others)
        del self.waiting[key]
        return made.notes

    def explain_pair(self, key: str, surrogate: str) -> None:
        """Turn a waiting pair of the authors' files into a system; ValueError as in `read_logged`."""
        waiting = self.waiting[key]
        assert waiting.pair is not None
        logged = read_logged(*waiting.pair, surrogate=surrogate)
        settings = {"surrogate": surrogate, "numbers": "probabilities"}
        self.ready[key] = System(waiting.name, logged, origin="upload", settings=settings)
        del self.waiting[key]

    def set_validation(self, key: str, of: str) -> None:
        """Use a file as validation predictions of another, or with of "" as test predictions; ValueError if unfit."""
        self.validation_of.pop(key, None)
        if not of:
            return
        if key not in self.ready or of not in self.ready:
            raise ValueError("one of the two files was forgotten a moment ago")
        own, system = self.ready[key].test, self.ready[of].test
        if isinstance(own, LoggedOutputs) or isinstance(system, LoggedOutputs):
            raise ValueError("logged outputs come without labels: they are no validation predictions, and have none")
        if len({(one.surrogate, one.num_experts, one.class_names) for one in (own, system)}) > 1:
            raise ValueError(
                f"{self.ready[key].name} and {self.ready[of].name} must be of one surrogate, with the same classes "
                "and as many experts"
            )
        self.validation_of[key] = of

    def systems(self) -> Mapping[str, System]:
        """The systems that can be compared, by key, with their validation predictions if there are any."""
        found = {key: system for key, system in self.ready.items() if key not in self.validation_of}
        for key, of in self.validation_of.items():
            scores = self.ready[key].test
            if of in found and isinstance(scores, Scores):
                found[of] = replace(found[of], validation=scores)
        return found

    def remove(self, key: str) -> None:
        """Forget a file, or the half of a pair with that name."""
        self.waiting.pop(key, None)
        self.ready.pop(key, None)
        self.parts.pop(key, None)
        self.validation_of = {own: of for own, of in self.validation_of.items() if key not in (own, of)}

    def _add_json(self, data: bytes, name: str) -> str | None:
        if len(data) > MAX_JSON_BYTES:
            raise ValueError(f"{name} must have at most {MAX_JSON_BYTES // 2**20} MB as JSON")
        stem = _stem(name)
        ending = next((end for end in (PROBABILITIES, FLAGS) if stem.endswith(end)), None)
        if ending is None:
            kind = describe_json(data)
            raise ValueError(
                f"{name} is {kind.what}: {kind.table_advice}. Of JSON only the authors' two files are read, "
                f"*{PROBABILITIES}.json and *{FLAGS}.json"
            )
        _require_json(data, name)
        self.parts[stem] = data
        base = stem.removesuffix(ending)
        if not {base + PROBABILITIES, base + FLAGS} <= self.parts.keys():
            return None
        pair = (self.parts.pop(base + PROBABILITIES), self.parts.pop(base + FLAGS))
        return self._put(self.waiting, Waiting(base or "logged", pair=pair))

    def _put(self, where: dict[str, Any], file: Waiting | System) -> str:
        """Keep a file under a new key; ValueError where all of them would take too much memory."""
        size = sum(map(_bytes_of, [file, *self.waiting.values(), *self.ready.values()]))
        if size > MAX_HELD_BYTES:
            raise ValueError(
                f"{file.name} was not taken: with it, your files would take {size / 2**20:,.0f} MB of memory, allowed "
                f"are {MAX_HELD_BYTES // 2**20:,}. Remove some first"
            )
        self._count += 1
        where[key := f"upload/{self._count}"] = file
        return key


def list_server_files(top: Path) -> list[str]:
    """The paths below `top` of files that may hold predictions; links to folders are not followed."""
    found: list[str] = []
    for path, folders, files in os.walk(top):
        place = Path(path).relative_to(top)
        folders[:] = [] if len(place.parts) >= MAX_DEPTH else sorted(one for one in folders if not one.startswith("."))
        named = (name for name in sorted(files) if name.lower().endswith(SERVER_ENDINGS) and not name.startswith("."))
        found += [(place / name).as_posix() for name in named if not name.endswith(f"{FLAGS}.json")]
        if len(found) >= MAX_LISTED:
            break
    return found[:MAX_LISTED]


def read_server_files(top: Path, name: str) -> list[tuple[bytes, str]]:
    """A listed file as (bytes, name), and its other half if it is one of the authors' two.

    Of a file that is too large, one byte more than allowed is read. ValueError if it is not listed, or is a link that
    leads out of `top`; OSError if it cannot be read.
    """
    if name not in list_server_files(top):
        raise ValueError("the file must be one of those that are listed")
    paths = [top / name]
    other = name.removesuffix(f"{PROBABILITIES}.json")
    if other != name and (top / f"{other}{FLAGS}.json").is_file():
        paths.append(top / f"{other}{FLAGS}.json")
    if not all(path.resolve().is_relative_to(top.resolve()) for path in paths):
        raise ValueError(f"{name} is a link that leads out of the folder of data")
    return [(_read(path), path.name) for path in paths]


def _read(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(MAX_FILE_BYTES + 1)


def split_names(text: str) -> list[str]:
    """Class names from a line with commas."""
    return [name for part in text.split(",") if (name := part.strip())]


def _stem(name: str) -> str:
    return PurePosixPath(name).stem or "upload"


def _groupable(table: pd.DataFrame) -> pd.DataFrame:
    """The columns by which cases can be grouped; what they repeat is kept once."""
    few = [name for name in table if table[name].nunique() <= MAX_LEVELS][:MAX_COLUMNS]
    return table[few].astype("category")


def _require_arrays(data: bytes, name: str) -> None:
    kind = describe_file(data)
    if kind not in (NPZ, ZIP):  # a zip of another kind, as far as its members tell
        raise ValueError(f"{name} is {kind.what}: {kind.table_advice}")


def _bytes_of(file: Waiting | System) -> int:
    """How much memory the data of a file take."""
    table, pair = (file.table, file.pair) if isinstance(file, Waiting) else (file.columns, None)
    arrays = (
        [] if isinstance(file, Waiting) else [one for one in vars(file.test).values() if isinstance(one, np.ndarray)]
    )
    texts = 0 if table is None else int(table.memory_usage(deep=True).sum())
    return texts + sum(map(len, pair or ())) + sum(one.nbytes for one in arrays)


def _load(data: bytes, name: str) -> Scores:
    try:
        scores = Scores.load(BytesIO(data), max_bytes=MAX_UNPACKED_BYTES, max_cases=MAX_CASES)
    except (ValueError, OSError) as problem:
        text = str(problem)
        raise ValueError(f"{name}: {text.partition('> ')[2] if text.startswith('<') else text}") from problem
    return replace(scores, logits=np.ascontiguousarray(scores.logits))


def _require_json(data: bytes, name: str) -> None:
    try:
        json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{name} is no JSON: {problem}") from problem
