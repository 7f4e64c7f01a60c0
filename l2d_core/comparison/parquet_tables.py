"""Parquet from outside as a table, decoded under a budget of memory that the file itself cannot raise.

2 kB of Parquet can stand for gigabytes: pages are compressed, dictionaries and run lengths repeat a value for nothing,
and what the footer says of sizes may be false. So all pages' own headers are read before one of them is unpacked,
texts are decoded as dictionaries and counted as they would be written out, and nested columns are not decoded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pandas as pd

from l2d_core.common.checks import brief

MAX_PAGES = 200_000
BATCH_ROWS, BATCH_BYTES = 65_536, 16 * 2**20
CELL_BYTES = 8  # of a number, or of the place where a text begins
MAX_TEXT_BYTES = 200_000  # of one text
# By their numbers in the format: encodings whose texts Arrow reads as dictionaries, and one in which a text can repeat
# the text before it for nothing.
_AS_DICTIONARY, _REPEATING = frozenset({0, 2, 3, 8}), 7
_MAX_FIELDS, _MAX_DEPTH = 64, 6


@dataclass(frozen=True)
class FlatParquet:
    """A file whose footer was read. names: its columns of numbers, texts and booleans; left_out: others -> type."""

    data: bytes
    metadata: Any
    names: tuple[str, ...]
    left_out: dict[str, str]


def open_parquet(data: bytes) -> FlatParquet:
    """Read the footer and the schema alone. pyarrow's exceptions, OSError where they cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    metadata = parquet.read_metadata(pa.BufferReader(_footer_alone(data)))
    fields = list(parquet.ParquetFile(pa.BufferReader(data), metadata=metadata).schema_arrow)
    names = tuple(field.name for field in fields if _is_flat(field.type))
    return FlatParquet(data, metadata, names, {f.name: str(f.type)[:80] for f in fields if not _is_flat(f.type)})


def _footer_alone(data: bytes) -> bytes:
    """A file that has the footer only, without Arrow's own schema: by that a text could be of a kind such as
    large_string, which is not read as a dictionary."""
    size = min(int.from_bytes(data[-8:-4], "little"), len(data) - 12)
    footer = data[-8 - size : -8].replace(b"ARROW:schema", b"ARROW.schema")
    return b"PAR1" + footer + data[-8:]


def _is_flat(kind: Any) -> bool:
    from pyarrow import types

    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return number or types.is_boolean(kind) or types.is_string(kind) or types.is_null(kind)


def decode(file: FlatParquet, budget: int) -> pd.DataFrame:
    """The columns of `file.names`; budget: bytes that they may take in memory.

    ValueError names the column that is too large; pyarrow's exceptions, OSError and IndexError come of what is broken.
    """
    require_room(file.metadata.num_rows * len(file.names) * CELL_BYTES, budget, f"its {file.metadata.num_rows:,} rows")
    chunks = _chunks(file)
    columns, taken, pages = {}, 0, 0
    for name in file.names:
        found = list(islice((page for chunk in chunks[name] for page in _pages(file.data, chunk)), MAX_PAGES))
        pages += len(found)
        _require_few(pages, "pages")
        require_room(max((page.size for page in found), default=0), budget, f"its column {brief(name)}")
        columns[name], size = _column(file, name, found, budget - taken)
        taken += size
    return pd.DataFrame(columns)


def require_room(size: int, budget: int, what: str) -> None:
    """Raise ValueError where something takes more bytes than there may be."""
    if size > budget:
        raise ValueError(f"{what} unpacks to {size:,} bytes or more, allowed for a file of its size are {budget:,}")


def _require_few(count: int, what: str) -> None:
    if count >= MAX_PAGES:
        raise ValueError(f"it has {MAX_PAGES:,} {what} or more")


def _chunks(file: FlatParquet) -> dict[str, list[Any]]:
    """The chunks of each column, one per row group."""
    _require_few(file.metadata.num_row_groups * file.metadata.num_columns, "parts of columns")
    found: dict[str, list[Any]] = {name: [] for name in file.names}
    for group in range(file.metadata.num_row_groups):
        columns = [file.metadata.row_group(group).column(place) for place in range(file.metadata.num_columns)]
        for column in columns:
            found.get(column.path_in_schema, []).append(column)
    twice = [name for name, chunks in found.items() if len(chunks) != file.metadata.num_row_groups]
    if twice:  # a nested one has the path of another's name
        raise ValueError(f"its column {brief(twice[0])} is not the only one of that path")
    return found


def _column(file: FlatParquet, name: str, pages: "Sequence[Page]", room: int) -> tuple[pd.Series, int]:
    """A column and how many bytes it takes, of at most `room`."""
    import pyarrow as pa
    from pyarrow import parquet

    encodings = {page.encoding for page in pages}
    kept = [name] if encodings <= _AS_DICTIONARY else []
    largest = max((page.size for page in pages), default=1)
    rows = min(BATCH_ROWS, max(1, BATCH_BYTES // max(largest, 1))) if _REPEATING in encodings else BATCH_ROWS
    reader = parquet.ParquetFile(pa.BufferReader(file.data), metadata=file.metadata, read_dictionary=kept)
    parts, size = [], 0
    for batch in reader.iter_batches(rows, columns=[name], use_threads=False):
        part = batch.column(0)
        part.validate(full=True)
        size += _size(part, name)
        require_room(size, room, f"its column {brief(name)}")
        parts.append(_plain(part))
    kind = parts[0].type if parts else pa.null()
    return pa.chunked_array(parts, kind).to_pandas(), size


def _size(part: Any, name: str) -> int:
    """How many bytes an array takes, its texts written out."""
    import pyarrow as pa
    from pyarrow import compute

    size = len(part) * CELL_BYTES
    if pa.types.is_dictionary(part.type):
        _require_short(part.dictionary, name)
        lengths = compute.binary_length(part.dictionary)  # pyright: ignore[reportAttributeAccessIssue]
        return size + (compute.sum(lengths.take(part.indices)).as_py() or 0)  # pyright: ignore[reportAttributeAccessIssue]
    if pa.types.is_string(part.type):
        _require_short(part, name)
        return size + part.nbytes
    return size


def _require_short(texts: Any, name: str) -> None:
    """Raise ValueError where one of a column's texts, in an array of pyarrow, is longer than any that is of use."""
    from pyarrow import compute

    longest = compute.max(compute.binary_length(texts)).as_py() or 0  # pyright: ignore[reportAttributeAccessIssue]
    if longest > MAX_TEXT_BYTES:
        raise ValueError(f"its column {brief(name)} has a text of {longest:,} bytes, allowed are {MAX_TEXT_BYTES:,}")


def _plain(part: Any) -> Any:
    """Texts written out, and decimal numbers as floats."""
    import pyarrow as pa

    if pa.types.is_dictionary(part.type):
        return part.cast(pa.large_string())
    return part.cast(pa.float64()) if pa.types.is_decimal(part.type) else part


@dataclass(frozen=True)
class Page:
    """A page: how many bytes it unpacks to, and the encoding of its values by its number in the format."""

    size: int
    encoding: int


# https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift, PageHeader: the kind of a page ->
# the field with its own header. In that, 1 is how many values it has.
_DICTIONARY, _HEADERS = 2, {0: 5, 2: 7, 3: 8}
_ENCODING = {5: 2, 7: 2, 8: 4}


def _pages(data: bytes, chunk: Any) -> Iterator[Page]:
    """The pages of a column chunk, by their own headers."""
    starts = (chunk.dictionary_page_offset, chunk.data_page_offset)
    at = min(start for start in starts if start)
    end, values = at + chunk.total_compressed_size, 0
    while at < end and values < chunk.num_values:
        header, at = _struct(data, at)
        kind = _HEADERS.get(header.get(1, -1), 0)
        own = header.get(kind, {})
        sizes = header.get(2, -1), header.get(3, -1)
        if min(sizes) < 0 or not isinstance(own, dict):
            raise ValueError("a page of it has no size")
        at += sizes[1]
        if kind:
            values += own.get(1, 0) if header[1] != _DICTIONARY else 0
            yield Page(sizes[0], own.get(_ENCODING[kind], -1))
        else:
            yield Page(sizes[0], 0)


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """A struct in Thrift's compact protocol, as number of a field -> value, and where it ends; no lists, no texts."""
    fields: dict[int, Any] = {}
    number = 0
    for _ in range(_MAX_FIELDS):
        head, at = data[at], at + 1
        if head == 0:
            return fields, at
        step, kind = head >> 4, head & 15
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(data, at, kind, depth)
    raise ValueError("the header of a page is too long")


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:  # bytes: their number, not in zigzag, and themselves
        size, at = _varint(data, at)
        return None, at + size
    if kind == 12 and depth < _MAX_DEPTH:
        return _struct(data, at, depth + 1)
    raise ValueError("the header of a page cannot be read")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte, at = data[at], at + 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number in the header of a page is too long")
