"""A table of votes from outside, one row per case: how many people, or which share, named each class."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from l2d_core.common.checks import require_known
from l2d_core.common.files import is_hidden
from l2d_core.datasets.delimited_text import Source, normalise, read_header, read_rows, read_text, source_name

# What the columns hold -> the sum over the classes of a case, which may be off by rounding.
KINDS = {"counts": None, "shares": 1.0, "percent": 100.0}
ROUNDING = 0.01  # relative to the sum
MAX_VOTES = 1e9
MAX_BYTES = 64 * 1024**2  # Kaggle's table of galaxies has 61,578 rows of 38 columns
SHOWN = 3


@dataclass(frozen=True)
class VoteColumns:
    """The columns of a table of votes.

    case: the column with the case's name. classes: class name -> column, K of them. kind: what those hold, which is
    never guessed from the values: "counts" of people, "shares" from 0 to 1 or "percent" from 0 to 100, which sum to 1
    or 100 over the classes, up to rounding. scores: class name -> column of non-negative numbers that decide the label
    in place of the votes, such as debiased shares; they need not sum to 1. file: the column with the image's file.
    """

    case: str
    classes: Mapping[str, str]
    kind: str
    scores: Mapping[str, str] | None = None
    file: str = ""

    def __post_init__(self) -> None:
        require_known("kind", self.kind, KINDS)
        if len(self.classes) < 2 or len(set(self.classes.values())) < len(self.classes):
            raise ValueError(f"classes must be two or more, each with a column of its own, got {dict(self.classes)}")
        if self.scores is not None and list(self.scores) != list(self.classes):
            raise ValueError(f"scores must be of the classes {list(self.classes)}, got {list(self.scores)}")

    @property
    def all(self) -> list[str]:
        """Each column that the table must have."""
        own = [self.case, *self.classes.values(), *(self.scores or {}).values(), self.file]
        return list(dict.fromkeys(filter(None, own)))


@dataclass(frozen=True)
class VoteTable:
    """N cases with their votes. ids (N,); votes (N, K) float64 as in the table; scores (N, K), which decide the labels.

    class_names K; files (N,), "" where the table names none; repeats: the number of repeated rows.
    """

    ids: np.ndarray
    votes: np.ndarray
    scores: np.ndarray
    class_names: tuple[str, ...]
    files: np.ndarray
    repeats: int = 0

    def __len__(self) -> int:
        return len(self.ids)


def read_vote_table(source: Source, columns: VoteColumns) -> VoteTable:
    """The votes in a delimited text table. Repeated rows count once.

    ValueError names the file, and the line or the case: a missing column, a value that is no number or out of range,
    shares that do not sum to 1, a case without votes, two rows that differ on one case, no rows.
    """
    name, text = source_name(source), read_text(source, MAX_BYTES)
    header, delimiter = read_header(text, name, map(normalise, columns.all))
    places = {column: _place(column, header, name) for column in columns.all}
    cases: dict[str, _Case] = {}
    repeats = 0
    for line, fields in read_rows(text, name, len(header), delimiter):
        values = {column: fields[place] for column, place in places.items()}
        case = _read_case(values, columns, f"in {name} at line {line} ({values[columns.case]})")
        repeats += values[columns.case] in cases
        if cases.setdefault(values[columns.case], case) != case:
            raise ValueError(f"{name} must have one row a case, got another on {values[columns.case]} at line {line}")
    if not cases:
        raise ValueError(f"{name} must have at least one row below the column names, got 0")
    votes, scores, files = (np.array(part) for part in zip(*cases.values(), strict=True))
    return VoteTable(np.array(list(cases)), votes, scores, tuple(columns.classes), files, repeats)


def in_small_type(votes: np.ndarray) -> np.ndarray:
    """Votes (N, K) as they are stored: counts below 65,536 as uint16, shares as float32."""
    is_counts = (votes == np.rint(votes)).all() and votes.max() < 2**16
    return votes.astype(np.uint16 if is_counts else np.float32)


def find_images(table: VoteTable, folder: Path, suffixes: Iterable[str] = (".jpg", ".jpeg", ".png")) -> list[Path]:
    """The image of each case, in the table's order: the file that the table names, or one with the case's name, with or
    without its ending.

    Files are matched by name, never by position; others are ignored.
    FileNotFoundError says how many are missing, and names the first. ValueError where two files have a case's name, or
    the table names a file outside the folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} with images")
    if table.files.all():
        paths = [_inside(folder, file, case) for file, case in zip(table.files, table.ids, strict=True)]
        return _require_files(paths, table.ids, folder)
    found: dict[str, Path | None] = dict.fromkeys(table.ids.tolist())
    inside = (path for path in folder.rglob("*") if not any(map(is_hidden, path.relative_to(folder).parts)))
    for path in sorted(path for path in inside if path.suffix.lower() in suffixes):
        for name in {path.stem, path.name} & found.keys():
            if found[name] is not None:
                raise ValueError(f"each image must be there once, got {found[name]} and {path}")
            found[name] = path
    return _require_files([found[case] for case in table.ids.tolist()], table.ids, folder)


def _require_files(paths: Sequence[Path | None], ids: np.ndarray, folder: Path) -> list[Path]:
    missing = [str(case) for path, case in zip(paths, ids, strict=True) if path is None or not path.is_file()]
    if missing:
        listed = ", ".join(missing[:SHOWN]) + (", ..." if len(missing) > SHOWN else "")
        raise FileNotFoundError(f"{folder} lacks the images of {len(missing):,} of the {len(ids):,} cases: {listed}")
    return [path for path in paths if path is not None]


def _inside(folder: Path, file: str, case: str) -> Path:
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"images must lie in {folder}, got {file!r} for {case}")
    return folder / file


class _Case(NamedTuple):
    votes: tuple[float, ...]
    scores: tuple[float, ...]
    file: str


def _read_case(values: Mapping[str, str], columns: VoteColumns, where: str) -> _Case:
    """A row's values by column, checked."""
    if not values[columns.case]:
        raise ValueError(f"{columns.case} must name each case, got none {where}")
    votes = tuple(_number(values[column], column, where) for column in columns.classes.values())
    _check_sum(votes, columns.kind, where)
    if columns.scores is None:
        return _Case(votes, votes, values.get(columns.file, ""))
    scores = tuple(_number(values[column], column, where) for column in columns.scores.values())
    if not any(scores):
        raise ValueError(f"{', '.join(columns.scores.values())} must not all be 0, got {_listed(scores)} {where}")
    return _Case(votes, scores, values.get(columns.file, ""))


def _place(column: str, header: list[str], name: str) -> int:
    if normalise(column) not in header:
        raise ValueError(f"{name} must have a column {column}; it has {', '.join(header[:20])}")
    return header.index(normalise(column))


def _number(text: str, column: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{column} must be a number, got {text[:40]!r} {where}") from None
    if not 0 <= value <= MAX_VOTES:
        raise ValueError(f"{column} must lie in 0..{MAX_VOTES:,.0f}, got {text[:40]} {where}")
    return value


def _check_sum(votes: tuple[float, ...], kind: str, where: str) -> None:
    total, wanted = sum(votes), KINDS[kind]
    if wanted is None:
        if any(vote != int(vote) for vote in votes):
            raise ValueError(f"counts must be whole numbers, got {_listed(votes)} {where}: say what the columns hold")
        if not total:
            raise ValueError(f"counts must hold at least one vote, got 0 {where}")
    elif abs(total - wanted) > ROUNDING * wanted:
        raise ValueError(
            f"{kind} must sum to {wanted:g} over the classes, got {total:g} ({_listed(votes)}) {where}; "
            f"what the columns hold must be said, one of {', '.join(KINDS)}, and is never guessed"
        )


def _listed(votes: tuple[float, ...]) -> str:
    return ", ".join(f"{vote:g}" for vote in votes)
