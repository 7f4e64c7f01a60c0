"""Folders of images on the server, below one root, chosen from a list and never typed; and the tables beside them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.lesions.patients import Patients
from l2d_core.common.files import open_regular
from l2d_core.datasets.delimited_text import MAX_BYTES, read_head
from l2d_core.datasets.ham10000.files import TABLE_SUFFIXES
from l2d_core.datasets.ham10000.metadata import find_layout
from l2d_core.images.opening import MAX_FILE_BYTES
from l2d_core.lesions.system import NEEDED

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
MAX_DEPTH = 4
MAX_FOLDERS = 500


@dataclass(frozen=True)
class Folder:
    """A folder with images. name: its path below the root, "." for the root itself; count: of images."""

    name: str
    count: int


def list_folders(top: Path) -> list[Folder]:
    """The folders with images at and below `top`, HAM10000 first; links to folders are not followed."""
    found = []
    for path, folders, files in os.walk(top):
        place = Path(path).relative_to(top)
        folders[:] = [] if len(place.parts) >= MAX_DEPTH else sorted(one for one in folders if not one.startswith("."))
        count = sum(name.lower().endswith(ENDINGS) for name in files)
        if count:
            found.append(Folder(place.as_posix(), count))
        if len(found) >= MAX_FOLDERS:
            break
    return sorted(found, key=lambda folder: (folder.name.split("/")[0].lower() != "ham10000", folder.name))


def list_images(top: Path, folder: str) -> list[Path]:
    """The images of a folder from `list_folders`, by name, without links to files outside of `top`.

    ValueError for any other folder.
    """
    if folder not in {known.name for known in list_folders(top)}:
        raise ValueError(f"folder must be one of those that are listed, got {folder!r}")
    real = top.resolve()
    paths = (path for path in sorted((top / folder).iterdir()) if path.name.lower().endswith(ENDINGS))
    return [path for path in paths if path.is_file() and path.resolve().is_relative_to(real)]


def find_patients(top: Path, folder: str, images: Sequence[Path]) -> Patients | None:
    """Age, sex and site from a table beside the images or in the folder above, below `top`.

    A table is recognised by its columns. Of several, the one that lists most of the images; None without one.
    """
    best, most = None, 0
    for path in _tables(top, folder):
        try:
            found = Patients.read(path.read_bytes(), path.relative_to(top).as_posix())
        except (ValueError, OSError):
            continue  # some other file
        count = len({found.key_of(image.name) for image in images} - {None})
        if count > most:
            best, most = found, count
    return best


def _tables(top: Path, folder: str) -> Iterator[Path]:
    real, inner = top.resolve(), top / folder
    for place in [inner] if inner == top else [inner, inner.parent]:
        for path in sorted(place.iterdir()):
            is_inside = path.suffix.lower() in TABLE_SUFFIXES and path.resolve().is_relative_to(real)
            if is_inside and path.is_file() and path.stat().st_size <= MAX_BYTES and _has_patients(path):
                yield path


def _has_patients(path: Path) -> bool:
    try:
        return any(column in find_layout(read_head(path), path.name).places for column in NEEDED)
    except (ValueError, OSError):
        return False


def read_file(path: Path) -> bytes:
    """The bytes of a file, one more than allowed if it is too large, so that it is refused like an upload."""
    with open_regular(path) as file:
        return file.read(MAX_FILE_BYTES + 1)
