"""Reading delimited text tables from outside (comma, semicolon, tab or bar), with checks: metadata, votes, predictions.

Leading lines that are blank, Excel's `sep=;` or comments (#) are skipped, and so are comments between rows; fields are
trimmed; text is UTF-8, or UTF-16 with its mark. A header that is itself a comment, as numpy.savetxt writes it, is used.
"""

import codecs
import csv
import os
import re
from collections.abc import Iterable, Iterator
from io import BytesIO, IOBase, StringIO, TextIOWrapper
from itertools import chain
from pathlib import Path

from l2d_core.common.checks import brief
from l2d_core.common.file_kinds import TEXT, UNKNOWN, describe_file
from l2d_core.common.files import open_regular

MAX_BYTES = 16 * 1024**2  # the published tables have 0.6 MB; in memory a table takes up to ten times its size
MAX_ROWS = 100_000
MAX_COLUMNS = 500
HEAD_BYTES = 64 * 1024
MIN_PIXELS = 50  # columns named pixel0000, pixel0001, ...
DELIMITERS = (",", ";", "\t", "|")
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# What programs write for a value that is missing, in lower case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "none", "null", "-", "?", "."})
_PIXELS = re.compile(r"\s*pixel0+\b", re.IGNORECASE)

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
    """Bytes as text; whole: whether they are the whole file, so that a character cut off at the end is an error.

    ValueError says what other kind of file it is, or names the first line that is no such text.
    """
    require_text(data, name)
    try:
        text = codecs.getincrementaldecoder(_encoding(data))().decode(data, final=whole)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"{name} must be text in UTF-8, line {line} is not: save it as 'CSV UTF-8'") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{name} must be text in UTF-8, line {line} holds a NUL: a binary file, or UTF-16 unmarked")
    return text


def require_text(data: bytes, name: str) -> None:
    """Raise ValueError where the bytes are a known kind of file other than plain text: what it is, and what to do."""
    kind = describe_file(data) if data else TEXT
    if kind not in (TEXT, UNKNOWN):
        raise ValueError(f"{name} is {kind.what}: {kind.table_advice}")


def read_header(text: str, name: str, wanted: Iterable[str]) -> tuple[list[str], str]:
    """The normalised column names, and the delimiter: the one with most wanted columns, then with most columns.

    ValueError where the text has no line, too many columns, or one of the wanted columns twice.
    """
    wanted = set(wanted)
    columns, mark = split_header(text, name, wanted)
    header = [normalise(column) for column in columns]
    twice = [column for column in wanted if header.count(column) > 1]
    if twice:
        raise ValueError(f"{name} must have each column once, got {min(twice)} twice")
    return header, mark


def split_header(
    text: str | bytes, name: str, wanted: Iterable[str] = (), max_columns: int = MAX_COLUMNS
) -> tuple[list[str], str]:
    """The column names as written, but trimmed, without blank ones at the end; and the delimiter, as `read_header`."""
    line = next(_table_lines(text, name)[1], "")
    if not line.strip():
        raise ValueError(f"{name} must have a line of column names, it is empty")
    wanted = set(wanted)
    found = {mark: _split_line(line, mark) for mark in DELIMITERS}
    normal = {mark: {normalise(column) for column in columns} for mark, columns in found.items()}
    mark = max(found, key=lambda mark: (len(wanted & normal[mark]), len(found[mark])))
    _, columns = next(_all_rows(text, name, mark))
    while columns and not columns[-1]:
        columns.pop()
    if len(columns) > MIN_PIXELS and _PIXELS.match(columns[0]):
        raise ValueError(f"{name} holds the pixels of small copies (such as 28x28), too small here: get the images")
    if len(columns) > max_columns:
        raise ValueError(f"{name} must have at most {max_columns:,} columns, got {len(columns):,}")
    return columns, mark


def normalise(column: str) -> str:
    """A column's name in lower case, without quotes and outer blanks; inner blanks and hyphens as underscores."""
    return re.sub(r"[\s-]+", "_", column.strip(' \t\r\n\ufeff"').strip().casefold())


def read_rows(text: str | bytes, name: str, width: int, delimiter: str, max_rows: int | None = None) -> Iterator[Line]:
    """The rows below the header, with `width` trimmed fields each, without blank lines and trailing blank fields.

    max_rows: MAX_ROWS if None. ValueError names the line of a row that is too short, too long or quoted wrongly, or
    exceeds the number allowed.
    """
    rows = _all_rows(text, name, delimiter)
    next(rows, None)  # the header
    count, max_rows = 0, MAX_ROWS if max_rows is None else max_rows
    for line, row in rows:
        if len(row) != width:
            if row[0].startswith("#"):
                continue
            if len(row) < width or any(row[width:]):
                raise ValueError(f"{name} must have {width} fields in each row, got {len(row):,} at line {line}")
        count += 1
        if count > max_rows:
            raise ValueError(f"{name} must have at most {max_rows:,} rows, got more at line {line}")
        yield line, row[:width]


def _all_rows(text: str | bytes, name: str, delimiter: str) -> Iterator[Line]:
    """All rows with anything in them, the header first."""
    skipped, lines = _table_lines(text, name)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter != "\t")
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield skipped + reader.line_num, fields
    except csv.Error as problem:
        hint = ": is a quote not closed?" if "field larger" in str(problem) else ""
        raise ValueError(f"{name} cannot be read at line {skipped + reader.line_num}: {problem}{hint}") from None


def _table_lines(text: str | bytes, name: str) -> tuple[int, Iterator[str]]:
    """How many lines come before the table, and its lines, the header first."""
    lines = _lines(text, name)
    comment = line = ""
    skipped = -1
    for skipped, line in enumerate(lines):  # noqa: B007 (both are used below)
        if line.startswith("#"):
            comment = line if re.match(r"#\s*[,;\t|]", line) else line.lstrip("# \t")
        elif line.strip() and not _is_separator_line(line):
            break
    else:
        return 0, iter([comment] if comment else [])
    if _is_header_of(comment, line):
        return skipped - 1, chain([comment, line], lines)
    return skipped, chain([line], lines)


def _lines(text: str | bytes, name: str) -> Iterator[str]:
    """The lines with their ends. Bytes are decoded as they are read, so that a large file is in memory once."""
    if isinstance(text, str):
        yield from StringIO(text.removeprefix("\ufeff"), newline="")
        return
    try:
        for line in TextIOWrapper(BytesIO(text), encoding=_encoding(text), newline=""):
            if "\0" in line:
                decode(text, name)  # says where
            yield line
    except UnicodeDecodeError:
        decode(text, name)  # says where
        raise


def _encoding(data: bytes) -> str:
    return next((encoding for mark, encoding in BOMS.items() if data.startswith(mark)), "utf-8")


def _is_header_of(comment: str, line: str) -> bool:
    """Whether a comment names the columns of the line below it, which holds numbers."""
    for mark in DELIMITERS:
        names, fields = _split_line(comment, mark), _split_line(line, mark)
        if len(names) == len(fields) > 1:
            return any(map(_is_number, fields)) and not any(map(_is_number, names))
    return False


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9]+(?:[.,][0-9]*)?(?:e[-+]?[0-9]+)?", text.strip(), re.IGNORECASE) is not None


def _split_line(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter != "\t"), [])
    except csv.Error:
        return []


def _is_separator_line(line: str) -> bool:
    """Whether this is Excel's first line `sep=;`."""
    return re.fullmatch(r"\ufeff?\"?sep=[,;\t|]?\"?[,;\t|]*\s*", line, re.IGNORECASE) is not None


def shown_columns(columns: Iterable[object]) -> str:
    """Column names as messages list them, so that control characters do not reach a terminal."""
    names = [str(name) for name in columns]
    listed = ", ".join(name[:80] if name.isprintable() else brief(name) for name in names[:20])
    return listed + (f" and {len(names) - 20} more" if len(names) > 20 else "")
