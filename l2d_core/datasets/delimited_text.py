"""Reading delimited text tables from outside (comma, semicolon, tab or bar), with checks."""

import codecs
import csv
import os
import re
from collections.abc import Iterable, Iterator
from io import IOBase, StringIO
from pathlib import Path

from l2d_core.common.files import open_regular

MAX_BYTES = 16 * 1024**2  # the published tables have 0.6 MB; in memory a table takes up to ten times its size
MAX_ROWS = 100_000
MAX_COLUMNS = 500
HEAD_BYTES = 64 * 1024
DELIMITERS = (",", ";", "\t", "|")
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

Source = str | os.PathLike | bytes | IOBase
Line = tuple[int, list[str]]  # the line at which a row ends, counted from 1, and its trimmed fields


def source_name(source: Source) -> str:
    """The name of a source in messages: its path, the name of the file object, or "the table"."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "the table"))


def read_text(source: Source, max_bytes: int | None = None) -> str:
    """The text of a path, bytes or file object, in UTF-8 or, with its mark, UTF-16.

    max_bytes: MAX_BYTES if None. FileNotFoundError where there is no such file; ValueError where it is no regular
    file, too large, or not such text, and names the first bad line.
    """
    name, max_bytes = source_name(source), MAX_BYTES if max_bytes is None else max_bytes
    if isinstance(source, str | os.PathLike):
        if Path(source).exists() and not Path(source).is_file():
            raise ValueError(f"{name} must be a file")
        with open(source, "rb") as file:
            data = file.read(max_bytes + 1)
    else:
        data = source if isinstance(source, bytes) else source.read(max_bytes + 1)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > max_bytes:
        raise ValueError(f"{name} must have at most {max_bytes:,} bytes, got more")
    return decode(data, name)


def read_head(path: Path) -> str:
    """The text of the first HEAD_BYTES of a file. Raises what `read_text` raises."""
    with open_regular(path) as file:
        return decode(file.read(HEAD_BYTES), str(path), whole=False)


def decode(data: bytes, name: str, *, whole: bool = True) -> str:
    """Bytes as text; whole: whether they are the whole file, so that a character cut off at the end is an error."""
    encoding = next((encoding for mark, encoding in BOMS.items() if data.startswith(mark)), "utf-8")
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=whole)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"{name} must be text in UTF-8, line {line} is not: save it as 'CSV UTF-8'") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{name} must be text in UTF-8, line {line} holds a NUL: a binary file, or UTF-16 unmarked")
    return text


def read_header(text: str, name: str, wanted: Iterable[str]) -> tuple[list[str], str]:
    """The normalised column names, and the delimiter: the one with most wanted columns, then with most columns.

    ValueError where the text has no line, too many columns, or one of the wanted columns twice.
    """
    line = next((line for line in StringIO(text) if line.strip() and not _is_separator_line(line)), "")
    if not line:
        raise ValueError(f"{name} must have a line of column names, it is empty")
    wanted = set(wanted)
    found = {mark: _split_header(line, mark, name) for mark in DELIMITERS}
    mark = max(found, key=lambda mark: (len(wanted.intersection(found[mark])), len(found[mark])))
    header = found[mark]
    twice = [column for column in wanted if header.count(column) > 1]
    if twice:
        raise ValueError(f"{name} must have each column once, got {min(twice)} twice")
    return header, mark


def normalise(column: str) -> str:
    """A column's name in lower case, without quotes and outer blanks; inner blanks and hyphens as underscores."""
    return re.sub(r"[\s-]+", "_", column.strip(' \t\r\n\ufeff"').strip().casefold())


def read_rows(text: str, name: str, width: int, delimiter: str) -> Iterator[Line]:
    """The rows below the header, with `width` trimmed fields each, without blank lines and trailing blank fields.

    ValueError names the line of a row that is too short, too long or quoted wrongly, or exceeds the number allowed.
    """
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    count = -1  # the header comes first
    while True:
        try:
            row = [field.strip() for field in next(reader)]
        except StopIteration:
            return
        except csv.Error as problem:
            raise ValueError(f"{name} cannot be read at line {reader.line_num}: {problem}") from None
        if not any(row) or (count < 0 and _is_separator_line("".join(row))):
            continue
        count += 1
        if count == 0:
            continue
        if len(row) < width or any(row[width:]):
            raise ValueError(f"{name} must have {width} fields in each row, got {len(row):,} at line {reader.line_num}")
        if count > MAX_ROWS:
            raise ValueError(f"{name} must have at most {MAX_ROWS:,} rows, got more at line {reader.line_num}")
        yield reader.line_num, row[:width]


def _split_header(line: str, delimiter: str, name: str) -> list[str]:
    try:
        columns = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        return []
    if len(columns) > MAX_COLUMNS:
        raise ValueError(f"{name} must have at most {MAX_COLUMNS} columns, got {len(columns):,}")
    header = [normalise(column) for column in columns]
    while header and not header[-1]:
        header.pop()
    return header


def _is_separator_line(line: str) -> bool:
    """Whether this is Excel's first line `sep=;`, whose sign may have been read as the delimiter."""
    return re.fullmatch(r"\ufeff?sep=[,;\t|]?\s*", line, re.IGNORECASE) is not None
