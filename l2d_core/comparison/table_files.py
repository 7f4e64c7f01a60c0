"""Tables of predictions from outside, CSV or Parquet, checked before they take memory."""

import csv
import os
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from l2d_core.common.checks import brief, list_names
from l2d_core.comparison import parquet_tables
from l2d_core.comparison.parquet_tables import CELL_BYTES, require_room, require_short

MAX_BYTES = 2 * 1024**3
MAX_COLUMNS = 2_000
MAX_NAME_LENGTH = 200
MAX_ROW_BYTES = 2**20  # a block of pyarrow's, which has to hold a whole row
LEFT_OUT = "left_out"  # in a table's attrs: name -> type, of columns that were not read

Source = str | os.PathLike | bytes


def read_predictions(source: Source, name: str = "the table") -> pd.DataFrame:
    """Read a CSV or Parquet file, recognised by its content. name: the name of bytes in messages.

    Only columns of numbers, texts and booleans are read; `attrs["left_out"]` maps the others' names to their types.
    FileNotFoundError if there is no file; ValueError if it is neither CSV nor Parquet, empty, or too large.
    """
    if not isinstance(source, bytes):
        name = os.fspath(source)
        size = Path(source).stat().st_size
        if not Path(source).is_file():
            raise ValueError(f"{name} must be a file")
        _require_size(size, name)
        source = Path(source).read_bytes()
    _require_size(len(source), name)
    table = _read_parquet(source, name) if source[:4] == b"PAR1" else _read_csv(source, name)
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


def _read_csv(data: bytes, name: str) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    separator, names = _head(data, name)
    lines = 1 + data.count(b"\n") + data.count(b"\r")
    try:
        require_room(lines * len(names) * CELL_BYTES, _budget(len(data)), "it")
        # Without this option, pyarrow loses rows behind a quote that is never closed.
        options = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        table = arrow_csv.read_csv(pa.BufferReader(data), parse_options=options)
        table = _checked(table.rename_columns([column.lstrip("\ufeff").strip() for column in table.column_names]))
    except pa.ArrowException as problem:
        reason = f"is no CSV, or a quote in it is not closed: {_first_line(problem)}"
        reason = f"must have at most {MAX_ROW_BYTES:,} bytes in a row" if _has_long_row(data) else reason
        raise ValueError(f"{name} {reason}") from problem
    except ValueError as problem:
        raise ValueError(f"{name} is no CSV in UTF-8: {_first_line(problem)}") from problem
    return table.to_pandas(split_blocks=True, self_destruct=True)


def _has_long_row(data: bytes) -> bool:
    start = 0
    while len(data) - start > MAX_ROW_BYTES:
        end = max(data.rfind(mark, start, start + MAX_ROW_BYTES) for mark in (b"\n", b"\r"))
        if end < 0:
            return True
        start = end + 1
    return False


def _head(data: bytes, name: str) -> tuple[str, list[str]]:
    """The separator and the columns' names, which are checked before pyarrow creates columns."""
    start = data[: MAX_COLUMNS * MAX_NAME_LENGTH].decode("utf-8", "replace").lstrip("\ufeff\r\n")
    line = (start.splitlines() or [""])[0]
    separator = max(",;\t", key=line.count)
    try:
        names = next(csv.reader(StringIO(start, newline=""), delimiter=separator), [])
    except csv.Error as problem:
        raise ValueError(f"{name} is no CSV: {problem} in its first line") from problem
    _require_names([column.strip() for column in names], name)
    return separator, names


def _checked(table: Any) -> Any:
    """The table if its texts are UTF-8 and not too long, with dates as texts."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_binary(field.type):
            raise ValueError(f"its column {brief(field.name)} is not")
        if pa.types.is_string(field.type):
            require_short(table.column(place), field.name, ": is a quote not closed?")
        if pa.types.is_temporal(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def _read_parquet(data: bytes, name: str) -> pd.DataFrame:
    import pyarrow as pa

    try:
        file = parquet_tables.open_parquet(data)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise ValueError(f"{name} is no readable Parquet file: {_first_line(problem)}") from problem
    _require_names([*file.names, *file.left_out], name)
    if not file.names:
        raise ValueError(f"{name} has no column of numbers, texts or booleans, but {list_names(file.left_out)}")
    try:
        table = parquet_tables.decode(file, _budget(len(data)))
    except (pa.ArrowException, OSError, IndexError, ValueError) as problem:
        raise ValueError(f"{name} is no readable Parquet file: {_first_line(problem)}") from problem
    table.attrs[LEFT_OUT] = file.left_out
    return table


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["it is cut short"])[0]
