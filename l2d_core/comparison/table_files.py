"""Tables of predictions from outside, CSV or Parquet by their content, checked before they take memory."""

import os
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from l2d_core.common.checks import brief

MAX_BYTES = 2 * 1024**3
MAX_COLUMNS = 2_000
MAX_TEXT_BYTES = 256 * 2**20  # of a Parquet file, which may hold a long text once for many rows

Source = str | os.PathLike | bytes


def read_predictions(source: Source, name: str = "the table") -> pd.DataFrame:
    """A CSV or Parquet file, told apart by content. name: what messages call bytes.

    FileNotFoundError where there is no file; ValueError where it is neither, empty, or too large.
    """
    if not isinstance(source, bytes):
        name = os.fspath(source)
        size = Path(source).stat().st_size
        if not Path(source).is_file():
            raise ValueError(f"{name} must be a file")
        if size > MAX_BYTES:
            raise ValueError(f"{name} must have at most {MAX_BYTES:,} bytes, got {size:,}")
        source = Path(source).read_bytes()
    if len(source) > MAX_BYTES:
        raise ValueError(f"{name} must have at most {MAX_BYTES:,} bytes, got {len(source):,}")
    table = _read_parquet(source, name) if source[:4] == b"PAR1" else _read_csv(source, name)
    if len(table) == 0:
        raise ValueError(f"{name} must hold rows and at most {MAX_COLUMNS:,} columns, got {table.shape}")
    return table


def _require_few_columns(count: int, name: str) -> None:
    if count > MAX_COLUMNS:
        raise ValueError(f"{name} must hold rows and at most {MAX_COLUMNS:,} columns, got {count:,}")


def _read_csv(data: bytes, name: str) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import csv

    head = data[:65536].decode("utf-8", "replace").splitlines()
    separator = max(",;\t", key=head[0].count) if head else ","
    _require_few_columns(1 + data.partition(b"\n")[0].count(separator.encode()), name)  # each takes long to be made
    try:
        read = csv.read_csv(BytesIO(data), parse_options=csv.ParseOptions(delimiter=separator))
        _require_few_columns(read.num_columns, name)
        _require_utf8(read, name)
        table = read.to_pandas()
        table.columns = [str(column).lstrip("\ufeff").strip() for column in table.columns]
    except (pa.ArrowException, UnicodeDecodeError) as problem:
        raise ValueError(f"{name} is no CSV in UTF-8: {str(problem).splitlines()[0]}") from problem
    return _with_own_names(table, name)


def _require_utf8(table: Any, name: str) -> None:
    """Texts in another encoding come as bytes."""
    import pyarrow as pa

    other = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    if other:
        raise ValueError(f"{name} is no CSV in UTF-8: its column {brief(other[0])} is not")


def _read_parquet(data: bytes, name: str) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        _require_few_columns(file.metadata.num_columns, name)
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        # As dictionaries first: so a text that is in many rows takes its room once.
        table = parquet.read_table(pa.BufferReader(data), read_dictionary=texts)
        size = sum(_text_bytes(table.column(place)) for place in range(table.num_columns))
        if size > MAX_TEXT_BYTES:
            raise ValueError(f"its texts unpack to {size:,} bytes, allowed are {MAX_TEXT_BYTES:,}")
        return _with_own_names(table.cast(file.schema_arrow).to_pandas(), name)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise ValueError(f"{name} is no readable Parquet file: {str(problem).splitlines()[0]}") from problem


def _text_bytes(column: Any) -> int:
    """How many bytes the texts of a dictionary column take, written out; 0 for other columns."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(column.type):
        return 0
    total = 0
    for chunk in column.chunks:
        lengths = compute.binary_length(chunk.dictionary)  # pyright: ignore[reportAttributeAccessIssue]
        total += compute.sum(lengths.take(chunk.indices)).as_py() or 0  # pyright: ignore[reportAttributeAccessIssue]
    return total


def _with_own_names(table: pd.DataFrame, name: str) -> pd.DataFrame:
    names = [str(column) for column in table.columns]
    twice = [one for one, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{name} must have a name of its own for each column, got {brief(twice[0])} twice")
    return table
