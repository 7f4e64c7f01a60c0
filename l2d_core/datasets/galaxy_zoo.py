"""Galaxy Zoo 2: images of galaxies, with volunteers' votes on smooth, featured or artifact."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from l2d_core.common.checks import require_known
from l2d_core.data import Splits
from l2d_core.datasets import voted_images
from l2d_core.datasets.facts import GALAXY_VOLUNTEER as TITLE
from l2d_core.datasets.facts import GALAXY_ZOO as CLASS_NAMES
from l2d_core.datasets.vote_table import VoteColumns, VoteTable, read_vote_table
from l2d_core.datasets.votes import Voters

NAME = "Galaxy Zoo 2"
LABELS = ("raw", "debiased")
LICENCE = "attribution, non-commercial"
SOURCE = (
    "Galaxy Zoo: Lintott and others 2008, doi 10.1111/j.1365-2966.2008.13689.x; Willett and others 2013, "
    "doi 10.1093/mnras/stt1458; Hart and others 2016, doi 10.1093/mnras/stw1588; images of the Sloan Digital Sky Survey"
)
HOW_TO_GET = (
    f"Galaxy Zoo must lie there ({SOURCE}; {LICENCE}): from Kaggle's Galaxy Zoo challenge training_solutions_rev1.csv "
    "and the folder images_training_rev1; or gz2_votes.csv, with the columns id, file, n_smooth, n_featured and "
    "n_artifact, and the files that it names"
)


@dataclass(frozen=True)
class Layout:
    """A published table of the votes. debiased: class -> column of shares corrected for distance."""

    file: str
    columns: VoteColumns
    debiased: Mapping[str, str] | None = None


LAYOUTS = (
    Layout(
        "training_solutions_rev1.csv",  # Kaggle's: 37 shares, of which the first three answer the first question
        VoteColumns("GalaxyID", {name: f"Class1.{place}" for place, name in enumerate(CLASS_NAMES, 1)}, "shares"),
    ),
    Layout(
        "gz2_votes.csv",
        VoteColumns("id", {name: f"n_{name}" for name in CLASS_NAMES}, "counts", file="file"),
        {"smooth": "p_smooth_debiased", "featured": "p_featured_debiased", "artifact": "p_artifact"},
    ),
)


def load(data_root: Path, seed: int = 0, *, size: int = 112, images: int = 10_000, labels: str = "raw") -> Splits:
    """Galaxies under data_root/galaxy_zoo in training, validation and test, 60/20/20, stratified by label.

    size: height and width in pixels; images: the most to use, drawn by the seed, as in the paper.
    labels: "raw", the class with most votes; or "debiased", the class with the largest share after the correction for
    distance by Hart and others 2016, which only gz2_votes.csv has: far galaxies look smoother than they are, so that
    most voters may be wrong. The expert is a volunteer either way.
    inputs (N, 3, size, size) float16, as from `read_images`; every answer is -1 (not asked). 10,000 images of 112 x 112
    take 0.75 GB. Raises what `list_images` raises; ValueError on an option out of range.
    """
    return voted_images.split_images(list_images(data_root, labels), CLASS_NAMES, seed, size=size, images=images)


def list_images(data_root: Path, labels: str = "raw") -> pd.DataFrame:
    """The galaxies under data_root/galaxy_zoo, one row each: path, id, group (the id), label, part ("").

    FileNotFoundError names what is missing and how to get the data; ValueError what is wrong in the table.
    """
    folder, table = _read_table(Path(data_root), labels)
    try:
        return voted_images.list_images(table, folder)
    except FileNotFoundError as problem:
        raise FileNotFoundError(f"{problem}. {HOW_TO_GET}") from None


def voters(data_root: Path, **_: object) -> Voters:
    """The voters on the galaxies under data_root/galaxy_zoo; the same for all options of `load`."""
    table = _read_table(Path(data_root), "raw")[1]
    return Voters.of(table.ids, table.votes, TITLE)


def find_layout(data_root: Path) -> tuple[Layout, Path] | None:
    """The layout of the data under data_root/galaxy_zoo, and their table; None where there is none."""
    for layout in LAYOUTS:
        for folder in ("galaxy_zoo", f"galaxy_zoo/{Path(layout.file).stem}"):
            if (data_root / folder / layout.file).is_file():
                return layout, data_root / folder / layout.file
    return None


def _read_table(data_root: Path, labels: str) -> tuple[Path, VoteTable]:
    require_known("labels", labels, LABELS)
    folder, found = data_root / "galaxy_zoo", find_layout(data_root)
    if found is None:
        names = " and no ".join(layout.file for layout in LAYOUTS)
        raise FileNotFoundError(f"there is no {names} in {folder}. {HOW_TO_GET}")
    layout, path = found
    return folder, read_vote_table(path, _columns(layout, labels, path))


def _columns(layout: Layout, labels: str, path: Path) -> VoteColumns:
    if labels == "raw":
        return layout.columns
    if layout.debiased is None:
        raise ValueError(f"labels must be 'raw' for {path}, which has no debiased shares; got {labels!r}")
    return replace(layout.columns, scores=layout.debiased)
