"""A reproduction in a folder: its tables as CSV, and a manifest in JSON with what they mean, written last.

The manifest gives the SHA-256 of each table, which reveals a folder that was written in part or changed by hand.
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from l2d_core.common.files import write_whole
from l2d_core.common.json_fields import read_fields
from l2d_core.reproductions.findings import Finding
from l2d_core.reproductions.reproduction import COLUMNS, Reproduction, as_table

STORED_VERSION = 2
MANIFEST, TABLE = "manifest.json", "table"
MAX_BYTES, MAX_TABLES = 32 << 20, 32
_TABLE_NAME = re.compile(r"[a-z0-9_]{1,40}")
_TEXTS = COLUMNS[:4]


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest. tables: name -> SHA-256 of its CSV; versions: package -> version."""

    version: int
    name: str
    scale: str
    dataset: str
    reference: bool
    seeds: tuple[int, ...]
    title: str
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    seconds: float
    versions: Mapping[str, bool | int | float | str]
    tables: Mapping[str, bool | int | float | str]


@dataclass(frozen=True)
class StoredReproduction:
    """A stored result, and how it was made."""

    result: Reproduction
    manifest: Manifest


def write_reproduction(folder: str | os.PathLike, result: Reproduction, about: Mapping[str, Any]) -> None:
    """Store the result in the folder, which is created. about: name, scale, dataset, reference, seeds, versions."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {TABLE: result.table, **result.details}
    contents = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    for name, content in contents.items():
        if not _TABLE_NAME.fullmatch(name):
            raise ValueError(f"a table's name must be of a to z, digits and _, got {name!r}")
        write_whole(folder / f"{name}.csv", content)
    manifest = {
        "version": STORED_VERSION,
        **about,
        **{name: getattr(result, name) for name in ("title", "notes", "seconds")},
        "findings": [asdict(finding) for finding in result.findings],
        "tables": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    }
    write_whole(folder / MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())


def read_reproduction(folder: str | os.PathLike) -> StoredReproduction:
    """What `write_reproduction` wrote. FileNotFoundError where a file is missing; ValueError names what is wrong."""
    folder = Path(folder)
    manifest = _manifest(folder / MANIFEST)
    tables = {name: _read_table(folder, name, str(digest)) for name, digest in manifest.tables.items()}
    rows = tables.pop(TABLE)
    result = Reproduction(manifest.title, rows, tables, manifest.notes, manifest.findings, manifest.seconds)
    return StoredReproduction(result, manifest)


def _manifest(path: Path) -> Manifest:
    try:
        values = _of_this_version(json.loads(_bytes(path)))
        manifest = Manifest(**read_fields("the manifest", values, Manifest))
        if manifest.version != STORED_VERSION:
            raise ValueError(f"it has version {manifest.version}, and this program reads version {STORED_VERSION}")
        names = set(manifest.tables)
        if TABLE not in names or len(names) > MAX_TABLES or not all(map(_TABLE_NAME.fullmatch, names)):
            raise ValueError(
                f"its tables must be {TABLE!r} and others named by a to z, digits and _, got {sorted(names)}"
            )
    except (ValueError, TypeError, RecursionError) as problem:
        raise ValueError(f"{path}: {problem}") from problem
    return manifest


# Version 1 stored findings as sentences alone. The first kind with one of its phrases in the sentence applies.
_PHRASES_OF_VERSION_1 = {
    "open": ("not told apart by these seeds", "chance is not told apart", "nothing to compare", "no number of ours"),
    "agrees": ("as in the paper", "they agree within"),
    "differs": ("unlike in the paper", "more than our seeds differ"),
    "beside": ("",),
}


def _of_this_version(values: Any) -> Any:
    """The content of a manifest, one of version 1 converted; what is no manifest stays as it is."""
    if not isinstance(values, dict) or values.get("version") != 1 or not isinstance(values.get("findings"), list):
        return values
    findings = [{"kind": _kind_of(text), "text": text} for text in values["findings"]]
    return {**values, "version": STORED_VERSION, "findings": findings}


def _kind_of(sentence: object) -> str:
    phrases = _PHRASES_OF_VERSION_1.items()
    return next(kind for kind, own in phrases if any(phrase in str(sentence) for phrase in own))


def _read_table(folder: Path, name: str, digest: str) -> pd.DataFrame:
    path = folder / f"{name}.csv"
    content = _bytes(path)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path} is not the file that {folder / MANIFEST} is about: make both anew")
    try:
        return _main_table(content) if name == TABLE else _detail(content)
    except (ValueError, KeyError) as problem:
        raise ValueError(f"{path} is no table of a reproduction: {problem}") from problem


def _main_table(content: bytes) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(content), keep_default_na=False, dtype=str)
    if tuple(table.columns) != COLUMNS:
        raise ValueError(f"its columns must be {', '.join(COLUMNS)}, got {', '.join(table.columns)}")
    return as_table([{name: _cell(name, value) for name, value in one.items()} for one in table.to_dict("records")])


def _cell(name: Any, text: str) -> str | float | None:
    if name in _TEXTS:
        return text
    return float(text) if text else None


def _detail(content: bytes) -> pd.DataFrame:
    """A table in which a column of numbers and empty cells is numeric, and any other text, with "" for empty cells."""
    if not content.strip():
        return pd.DataFrame()
    table = pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])
    texts = table.select_dtypes(include=["object", "string"]).columns
    return table.fillna(dict.fromkeys(texts, ""))


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size:,} bytes, more than the {MAX_BYTES:,} allowed")
    return path.read_bytes()
