"""HAM10000: dermatoscopic images of pigmented skin lesions, with the lesion each belongs to and its diagnosis."""

from pathlib import Path

import pandas as pd

NAME = "HAM10000"
CLASS_NAMES = ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc")
COLUMNS = ("lesion_id", "image_id", "dx")
LICENCE = "CC BY-NC 4.0"
SOURCE = "Tschandl, Rosendahl and Kittler 2018, Harvard Dataverse, doi 10.7910/DVN/DBW86T"
HOW_TO_GET = (
    f"HAM10000 ({SOURCE}; {LICENCE}) must lie there as ham10000/images/ISIC_*.jpg and ham10000/HAM10000_metadata.csv"
)


def list_images(data_root: Path) -> pd.DataFrame:
    """The images under data_root/ham10000: path, id, group (the lesion), label and part (""), a row each.

    Rows are in the order of the table; images and rows are matched by id, never by position. FileNotFoundError
    names what is missing and how to get the data; ValueError what does not fit.
    """
    folder = Path(data_root) / "ham10000"
    images = folder / "images"
    if not images.is_dir():
        raise FileNotFoundError(f"there is no folder {images}. {HOW_TO_GET}")
    table = read_metadata(folder / "HAM10000_metadata.csv")
    paths = {path.stem: path for path in images.glob("*.jpg")}
    _check_same_ids(list(table["image_id"]), paths, images)
    return pd.DataFrame(
        {
            "path": [paths[image_id] for image_id in table["image_id"]],
            "id": table["image_id"],
            "group": table["lesion_id"],
            "label": table["dx"].map(CLASS_NAMES.index),
            "part": "",
        }
    )


def read_metadata(path: Path) -> pd.DataFrame:
    """The table of lesion_id, image_id and dx, as text, in the publisher's order, each image once.

    FileNotFoundError where there is no such file; ValueError names missing columns, unknown diagnoses with how
    many rows have them, and images that are listed twice.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}. {HOW_TO_GET}")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [column for column in COLUMNS if column not in table]
    if missing:
        raise ValueError(f"{path} lacks the columns {', '.join(missing)}; it has {', '.join(table)}")
    unknown = table.loc[~table["dx"].isin(CLASS_NAMES), "dx"].value_counts()
    if len(unknown):
        listed = ", ".join(f"{name!r} ({count} rows)" for name, count in unknown.items())
        raise ValueError(f"dx must be one of {', '.join(CLASS_NAMES)}; got {listed} in {path}")
    twice = table.loc[table["image_id"].duplicated(), "image_id"]
    if len(twice):
        raise ValueError(f"image_id must name each image once, got {twice.iloc[0]} twice in {path}")
    return table.loc[:, list(COLUMNS)]


def _check_same_ids(listed: list[str], paths: dict[str, Path], folder: Path) -> None:
    absent = [image_id for image_id in listed if image_id not in paths]
    if absent:
        raise FileNotFoundError(
            f"{folder} lacks {len(absent)} of the {len(listed)} listed images, the first is {absent[0]}.jpg. "
            f"{HOW_TO_GET}"
        )
    unlisted = sorted(set(paths).difference(listed))
    if unlisted:
        raise ValueError(
            f"{folder} holds {len(unlisted)} images that the table does not list, the first is {unlisted[0]}.jpg"
        )
