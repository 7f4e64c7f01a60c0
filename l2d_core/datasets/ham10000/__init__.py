"""HAM10000: dermatoscopic images of pigmented skin lesions, with the lesion, diagnosis and metadata of each."""

import warnings
from pathlib import Path

import pandas as pd

from l2d_core.datasets.ham10000.files import Files, describe_zip, find_files, find_folder
from l2d_core.datasets.ham10000.join import Joined, join
from l2d_core.datasets.ham10000.metadata import read_metadata
from l2d_core.datasets.ham10000.report import NUM_IMAGES, Report, make_report
from l2d_core.datasets.ham10000.values import CLASS_NAMES
from l2d_core.datasets.image_files import in_parquet

__all__ = ["CLASS_NAMES", "NUM_IMAGES", "examine", "list_images", "read_metadata"]

NAME = "HAM10000"
LICENCE = "CC BY-NC 4.0"
SOURCE = "Tschandl, Rosendahl and Kittler 2018, Harvard Dataverse, doi 10.7910/DVN/DBW86T"
HOW_TO_GET = (
    f"HAM10000 ({SOURCE}; {LICENCE}) must lie there: unpack HAM10000_images_part_1.zip and HAM10000_images_part_2.zip "
    "from the publisher into the folder ham10000, each into a folder or both into one, and put HAM10000_metadata "
    "beside them, as .tab or .csv"
)


def list_images(data_root: Path) -> pd.DataFrame:
    """The images under data_root/ham10000, one row each, in the table's order.

    Columns: path; id; group (the lesion, or the id where it is unknown); label in the order of CLASS_NAMES; part (""):
    the publisher's two folders are volumes and no split; age, sex, localization, dx_type and notes as `read_metadata`
    gives them. Images and rows are matched by id, never by position.

    data_root: may be the data set's own folder. FileNotFoundError says how to get the data where nothing can be joined;
    ValueError what does not fit. A UserWarning counts the images without a row, the rows without an image, and the
    published images that are missing.
    """
    files, joined = _join(data_root)
    if joined.images.empty:
        raise FileNotFoundError(
            f"{files.folder} lacks all {len(joined.absent):,} listed images, the first is {joined.absent[0]}. "
            f"{_advise(files)}"
        )
    _warn_of_rest(files, joined)
    _warn_of_part(files, joined)
    return joined.images


def examine(data_root: Path) -> Report:
    """A report on what is under data_root, even where `list_images` would refuse it: matches, rest, copies, oddities.

    FileNotFoundError where there are no images or no table; ValueError where a table is wrong.
    """
    files, joined = _join(data_root)
    return make_report(files, joined)


def _join(data_root: Path) -> tuple[Files, Joined]:
    folder = find_folder(data_root)
    if folder is None:
        raise FileNotFoundError(f"there is no folder {Path(data_root) / 'ham10000'} with images. {HOW_TO_GET}")
    files = find_files(folder)
    if not files.images:
        raise FileNotFoundError(f"there are no images in {folder}. {_advise(files)}")
    try:
        return files, join(files)
    except FileNotFoundError as problem:
        raise FileNotFoundError(f"{problem}. {_advise(files)}") from None


def _advise(files: Files) -> str:
    """What is in the folder instead, and how to get the data."""
    links = [f"{files.links:,} links to folders were not followed"] if files.links else []
    found = [*files.strays[:5], *map(describe_zip, files.zips[:5]), *links, *list(files.others.values())[:3]]
    found += [parquet.strip()] if (parquet := in_parquet(files.folder)) else []
    return " ".join(f"{sentence}." for sentence in [*found, HOW_TO_GET])


def _warn_of_rest(files: Files, joined: Joined) -> None:
    """Warn of listed images that are missing, and of images that are not listed, such as masks."""
    if joined.absent:
        warnings.warn(
            f"{files.folder} lacks {len(joined.absent):,} of the {len(joined.absent) + len(joined.images):,} listed "
            f"images, the first is {joined.absent[0]}; the others are used. {_advise(files)}",
            stacklevel=3,
        )
    if joined.unlisted:
        warnings.warn(
            f"{files.folder} holds {len(joined.unlisted):,} images that no table lists, the first is "
            f"{joined.unlisted[0].name}; they are not used",
            stacklevel=3,
        )


def _warn_of_part(files: Files, joined: Joined) -> None:
    aside = "".join(f"; {count:,} images in {folder} are not listed" for folder, count in joined.set_aside.items())
    if len(joined.images) != NUM_IMAGES or aside:
        count = f"{len(joined.images):,} images of {NAME}'s {NUM_IMAGES:,} published ones"
        warnings.warn(f"{files.folder} holds {count}{aside}", stacklevel=3)
