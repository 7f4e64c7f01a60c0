"""A folder of images with a table of votes: the label is the majority, the expert one of the voters."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets.image_files import read_images
from l2d_core.datasets.vote_table import VoteColumns, VoteTable, find_images, read_vote_table
from l2d_core.datasets.votes import Voters, majority

FRACTIONS = (0.6, 0.2, 0.2)
TITLE = "one of the people who voted"


def load(
    data_root: Path,
    seed: int = 0,
    *,
    folder: str = "voted_images",
    table: str = "votes.csv",
    case: str = "id",
    classes: str = "",
    kind: str = "",
    file: str = "",
    size: int = 64,
    images: int = 10_000,
) -> Splits:
    """The images of a folder under data_root in training, validation and test, 60/20/20, stratified by label.

    table: a file in that folder, with the column `case`, the case's name, and those of `classes`, given as
    "smooth=n_smooth,featured=n_featured", with the votes for each class. kind: what these hold, "counts", "shares" or
    "percent". file: a column with the image's path in the folder; if "", images are found by the case's name.
    size: height and width in pixels. images: the most to use, drawn by the seed.
    inputs (N, 3, size, size) float16, as from `read_images`; every answer is -1 (not asked).
    ValueError or FileNotFoundError says what is missing or wrong, and where.
    """
    columns = parse_columns(case=case, classes=classes, kind=kind, file=file)
    votes = read_vote_table(Path(data_root) / folder / table, columns)
    return split_images(list_images(votes, Path(data_root) / folder), votes.class_names, seed, size=size, images=images)


def voters(
    data_root: Path,
    *,
    folder: str = "voted_images",
    table: str = "votes.csv",
    case: str = "id",
    classes: str = "",
    kind: str = "",
    file: str = "",
    **_: object,
) -> Voters:
    """The voters on the images that `load` gives for the same options."""
    columns = parse_columns(case=case, classes=classes, kind=kind, file=file)
    votes = read_vote_table(Path(data_root) / folder / table, columns)
    return Voters.of(votes.ids, votes.votes, TITLE)


def parse_columns(*, case: str, classes: str, kind: str, file: str = "") -> VoteColumns:
    """The columns named by the options of a config, which are plain text. ValueError on a class without a column."""
    pairs = [pair.partition("=") for pair in classes.split(",")]
    if any(not name.strip() or not column.strip() for name, _, column in pairs):
        raise ValueError(f"classes must be CLASS=COLUMN,CLASS=COLUMN, as smooth=n_smooth; got {classes!r}")
    columns = {name.strip(): column.strip() for name, _, column in pairs}
    if len(columns) < len(pairs):
        raise ValueError(f"classes must name each class once, got {classes!r}")
    return VoteColumns(case=case, classes=columns, kind=kind, file=file)


def list_images(table: VoteTable, folder: Path) -> pd.DataFrame:
    """One row per case: path, id, group (the id), label (the majority of `scores`), part (""), "votes: NAME" per class.

    Raises what `find_images` raises; a UserWarning reports repeated rows.
    """
    if table.repeats:
        warnings.warn(f"{table.repeats:,} rows of votes say the same again, and count once", stacklevel=2)
    votes = {f"votes: {name}": table.votes[:, place] for place, name in enumerate(table.class_names)}
    paths, labels = find_images(table, folder), majority(table.scores)
    own = {"path": paths, "id": table.ids, "group": table.ids, "label": labels, "part": ""}
    return pd.DataFrame({**own, **votes})


def split_rows(table: pd.DataFrame, seed: int) -> list[np.ndarray]:
    """The rows of training, validation and test of listed images: 60/20/20, stratified by label."""
    groups, labels = table["group"].to_numpy(dtype=str), table["label"].to_numpy(dtype=np.int64)
    return split_by_group(groups, labels, FRACTIONS, generator=numpy_generator(seed, "split"))


def split_images(table: pd.DataFrame, class_names: tuple[str, ...], seed: int, *, size: int, images: int) -> Splits:
    """Read a number of the listed images, drawn by the seed, or all of them, and split them. See `load`."""
    if images < 3:
        raise ValueError(f"images must be at least 3, one a part, got {images}")
    rows = np.sort(numpy_generator(seed, "images").permutation(len(table))[:images])
    chosen = table.iloc[rows]
    return Splits(*(_read(chosen.iloc[part], class_names, size) for part in split_rows(chosen, seed)))


def _read(table: pd.DataFrame, class_names: tuple[str, ...], size: int) -> DeferralData:
    inputs = read_images(list(table["path"]), (size, size))
    labels = torch.tensor(table["label"].to_numpy(), dtype=torch.int64)
    return DeferralData.unasked(inputs, labels, table["id"].to_numpy(dtype=str), class_names)
