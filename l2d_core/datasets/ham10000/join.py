"""Matching of HAM10000's images and metadata by id, and the rest on either side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from l2d_core.datasets.delimited_text import read_head
from l2d_core.datasets.ham10000.files import Files
from l2d_core.datasets.ham10000.metadata import Metadata, find_layout, parse_metadata
from l2d_core.datasets.ham10000.values import CLASS_NAMES, match_key

FILLED_COLUMNS = ("lesion_id", "dx_type", "age", "sex", "localization")  # a second table may add these
KEPT_COLUMNS = ("age", "sex", "localization", "dx_type", "notes")


@dataclass(frozen=True)
class Joined:
    """Images with their metadata, and the rest.

    images: one row per image, in the table's order: path, id, group (the lesion, or the id where it is unknown),
    label, part (""), and KEPT_COLUMNS. absent: listed ids without an image; unlisted: images that are not listed, in
    folders where others are; set_aside: folder -> number of images, for folders without any listed image.
    tables: in words, what each table gave; repeated: the number of repeated rows.
    """

    images: pd.DataFrame
    absent: tuple[str, ...]
    unlisted: tuple[Path, ...]
    set_aside: dict[Path, int]
    tables: tuple[str, ...]
    repeated: int


def join(files: Files) -> Joined:
    """Match the images of a folder with its tables, by id and never by position.

    Of several tables, the one that lists most of the images is used, then the one with most columns; others that list
    some of the same images add the columns that it lacks. FileNotFoundError where no table has diagnoses; ValueError
    where a table is wrong, or two tables disagree on the diagnosis or lesion of an image.
    """
    tables = [_parse(path) for path in files.tables]
    labelled = [table for table in tables if "dx" not in table.absent]
    if not labelled:
        reasons = "".join(f"; {reason}" for reason in list(files.others.values())[:3])
        raise FileNotFoundError(
            f"there is no file of image ids and diagnoses, such as HAM10000_metadata.csv, in {files.folder}{reasons}"
        )
    base = max(labelled, key=lambda table: (_matches(table, files), -len(table.absent)))  # the first of equals
    whole, said = base.table, [f"{base.name}: {len(base.table):,} images"]
    for other in (table for table in tables if table is not base):
        whole, gave = _add(whole, base, other)
        said.append(f"{other.name}: {gave}")
    return _join(whole, files, tuple(said), base.repeated)


def _parse(path: Path) -> Metadata:
    return parse_metadata(path, labelled=find_layout(read_head(path), str(path)).has_diagnosis)


def _matches(table: Metadata, files: Files) -> int:
    return sum(match_key(image_id) in files.images for image_id in table.table["image_id"])


def _add(whole: pd.DataFrame, base: Metadata, other: Metadata) -> tuple[pd.DataFrame, str]:
    """The table `base` with the columns that only `other` has, and in words what was done."""
    rows = {match_key(image_id): row for row, image_id in enumerate(whole["image_id"])}
    pairs = [(rows[key], row) for row, key in enumerate(map(match_key, other.table["image_id"])) if key in rows]
    if not pairs:
        return whole, "not used, it lists none of these images"
    mine, theirs = (list(side) for side in zip(*pairs, strict=True))
    for column in ("dx", "lesion_id"):
        _require_agreement(whole.iloc[mine], other.table.iloc[theirs], column, (base.name, other.name))
    columns = [column for column in FILLED_COLUMNS if column in base.absent and column not in other.absent]
    if not columns:
        return whole, f"{len(pairs):,} of these images, nothing new"
    whole = whole.copy()
    for column in columns:
        values = whole[column].to_numpy(dtype=object, copy=True)
        values[mine] = other.table[column].to_numpy(dtype=object)[theirs]
        whole[column] = values
    whole["notes"] = _with_notes(list(whole["notes"]), list(other.table["notes"]), pairs, columns)
    return whole, f"{', '.join(columns)} of {len(pairs):,} of these images"


def _require_agreement(mine: pd.DataFrame, theirs: pd.DataFrame, column: str, names: tuple[str, str]) -> None:
    for image_id, one, other in zip(mine["image_id"], mine[column], theirs[column], strict=True):
        if one and other and one != other:
            raise ValueError(
                f"{column} of {image_id} must be the same in all tables, got {one!r} in {names[0]} and {other!r} in "
                f"{names[1]}"
            )


def _with_notes(
    notes: Sequence[str], added: Sequence[str], pairs: Sequence[tuple[int, int]], columns: Sequence[str]
) -> list[str]:
    """The notes, with those of the other table on the columns that it adds."""
    merged = list(notes)
    for row, other in pairs:
        new = [note for note in added[other].split("; ") if note.startswith(tuple(columns))]
        merged[row] = "; ".join(filter(None, (merged[row], *new)))
    return merged


def _join(whole: pd.DataFrame, files: Files, tables: tuple[str, ...], repeated: int) -> Joined:
    keys = [match_key(image_id) for image_id in whole["image_id"]]
    there = [key in files.images for key in keys]
    kept = whole.loc[there].reset_index(drop=True)
    images = pd.DataFrame(
        {
            "path": [files.images[key][0] for key in keys if key in files.images],
            "id": kept["image_id"],
            "group": [lesion or own for lesion, own in zip(kept["lesion_id"], kept["image_id"], strict=True)],
            "label": np.array([CLASS_NAMES.index(name) for name in kept["dx"]], dtype=np.int64),
            "part": "",
            **{column: kept[column] for column in KEPT_COLUMNS},
        }
    )
    listed = set(keys)
    unlisted = [paths[0] for key, paths in files.images.items() if key not in listed]
    set_aside, strangers = _by_folder(unlisted, {path.parent for path in images["path"]})
    absent = tuple(image_id for image_id, is_there in zip(whole["image_id"], there, strict=True) if not is_there)
    return Joined(images, absent, strangers, set_aside, tables, repeated)


def _by_folder(unlisted: Sequence[Path], used: set[Path]) -> tuple[dict[Path, int], tuple[Path, ...]]:
    """The number of images in each folder without a listed one, and the images in the other folders."""
    set_aside: dict[Path, int] = {}
    strangers = []
    for path in unlisted:
        if path.parent in used:
            strangers.append(path)
        else:
            set_aside[path.parent] = set_aside.get(path.parent, 0) + 1
    return set_aside, tuple(strangers)
