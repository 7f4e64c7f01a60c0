"""Tables of predictions from outside, delimited text or Parquet, checked before they take memory."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from l2d_core.common.checks import brief, list_names
from l2d_core.common.file_kinds import TEXT, describe_json
from l2d_core.comparison import parquet_tables
from l2d_core.comparison.parquet_tables import CELL_BYTES, require_room
from l2d_core.datasets.delimited_text import read_rows, require_text, split_header

MAX_BYTES = 2 * 1024**3
MAX_COLUMNS = 2_000
MAX_NAME_LENGTH = 200
MAX_ROW_BYTES = 2**20
BATCH_ROWS = 8_192
LEFT_OUT = "left_out"  # in a table's attrs: name -> type, of columns that were not read

Source = str | os.PathLike | bytes


def read_predictions(source: Source, name: str = "the table", *, max_rows: int = sys.maxsize) -> pd.DataFrame:
    """Read delimited text or Parquet, recognised by its content. name: the name of bytes in messages.

    max_rows: what has more is refused before the rest is read.

    The columns of a text hold the text as written. Of Parquet only columns of numbers, texts and booleans are read;
    `attrs["left_out"]` maps the others' names to their types.
    FileNotFoundError if there is no file; ValueError if it is neither, and says what it is; if empty, or too large.
    """
    if not isinstance(source, bytes):
        name = os.fspath(source)
        size = Path(source).stat().st_size
        if not Path(source).is_file():
            raise ValueError(f"{name} must be a file")
        _require_size(size, name)
        source = Path(source).read_bytes()
    _require_size(len(source), name)
    read = _read_parquet if source[:4] == b"PAR1" else _read_csv
    table = read(source, name, max_rows)
    if len(table) == 0:
        raise ValueError(f"{name} must hold rows and at most {MAX_COLUMNS:,} columns, got {table.shape}")
    return table


def _require_size(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise ValueError(f"{name} must have at most {MAX_BYTES:,} bytes, got {size:,}")


def _budget(size: int) -> int:
    """The number of bytes that the table of a file of this size may take, far more than ordinary files need."""
    return min(64 * 2**20 + 8 * size, max(512 * 2**20, 2 * size))


def _require_names(names: Sequence[str], name: str) -> None:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{name} must hold rows and at most {MAX_COLUMNS:,} columns, got {len(names):,}")
    twice = [one for one, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{name} must have a name of its own for each column, got {brief(twice[0])} twice")
    long = next((one for one in names if len(one) > MAX_NAME_LENGTH), None)
    if long is not None:
        raise ValueError(f"{name} must name columns with at most {MAX_NAME_LENGTH} characters, got {brief(long)}")


def _read_csv(data: bytes, name: str, max_rows: int) -> pd.DataFrame:
    """A delimited text as columns of text, exactly as written, but trimmed."""
    require_table(data, name)
    if _has_long_row(data):
        raise ValueError(f"{name} must have at most {MAX_ROW_BYTES:,} bytes in a row")
    names, delimiter = split_header(data, name, max_columns=MAX_COLUMNS)
    _require_names(names, name)
    lines = 1 + data.count(b"\n") + data.count(b"\r")
    try:
        require_room(lines * len(names) * CELL_BYTES, _budget(len(data)), "it")
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from problem
    return pd.DataFrame(dict(zip(names, _columns(data, name, delimiter, len(names), max_rows), strict=True)))


def _columns(data: bytes, name: str, delimiter: str, width: int, max_rows: int) -> list[Any]:
    """The columns of a delimited text as arrays of text, which take little more than the file does."""
    import pyarrow as pa

    parts: list[list[Any]] = [[] for _ in range(width)]
    rows = (row for _, row in read_rows(data, name, width, delimiter, max_rows=max_rows))
    while batch := list(islice(rows, BATCH_ROWS)):
        for part, cells in zip(parts, zip(*batch, strict=True), strict=True):
            part.append(pa.array(cells, pa.string()))
    return [pd.arrays.ArrowExtensionArray(pa.chunked_array(part, pa.string())) for part in parts]


def require_table(data: bytes, name: str) -> None:
    """Raise ValueError where the bytes are a known kind of file that is no delimited text: what it is, what to do."""
    require_text(data, name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{"):
        kind = describe_json(data)
        if kind is not TEXT:
            raise ValueError(f"{name} is {kind.what}: {kind.table_advice}")


def _has_long_row(data: bytes) -> bool:
    start = 0
    while len(data) - start > MAX_ROW_BYTES:
        end = max(data.rfind(mark, start, start + MAX_ROW_BYTES) for mark in (b"\n", b"\r"))
        if end < 0:
            return True
        start = end + 1
    return False


def _read_parquet(data: bytes, name: str, max_rows: int) -> pd.DataFrame:
    import pyarrow as pa

    try:
        file = parquet_tables.open_parquet(data)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise ValueError(f"{name} is no readable Parquet file: {_first_line(problem)}") from problem
    _require_names([*file.names, *file.left_out], name)
    if not file.names:
        raise ValueError(f"{name} has no column of numbers, texts or booleans, but {list_names(file.left_out)}")
    if file.metadata.num_rows > max_rows:
        raise ValueError(f"{name} must have at most {max_rows:,} rows, got {file.metadata.num_rows:,}")
    try:
        table = parquet_tables.decode(file, _budget(len(data)))
    except (pa.ArrowException, OSError, IndexError, ValueError) as problem:
        raise ValueError(f"{name} is no readable Parquet file: {_first_line(problem)}") from problem
    table.attrs[LEFT_OUT] = file.left_out
    return table


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["it is cut short"])[0]
