"""The files of HAM10000 in a folder: images by id, tables of metadata, and other files."""

import hashlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

from l2d_core.common.files import is_hidden
from l2d_core.datasets.ham10000.metadata import describes_images
from l2d_core.datasets.ham10000.values import match_key

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp")
TABLE_SUFFIXES = ("", ".csv", ".tab", ".tsv", ".txt")
UNFINISHED_SUFFIXES = (".part", ".crdownload", ".download")
OWN_PREFIXES = ("ham10000", "isic_0", "isic2018")
# The publisher's archives in lower case: bytes and MD5, as Harvard Dataverse states them.
PUBLISHED_ZIPS = {
    "ham10000_images_part_1.zip": (1_366_522_108, "4639bfa73ab251610530a97c898e6e46"),
    "ham10000_images_part_2.zip": (1_403_566_547, "da43d6cc50f6613013be07e8986b384b"),
}
MAX_DEPTH = 6
DERMAMNIST = (
    "DermaMNIST, which is not read here: 28x28 copies of HAM10000, split by image 7:1:2, so that lesions are in "
    "several parts (a leaky split, toy use); its licence field says CC BY 4.0, HAM10000's is CC BY-NC 4.0"
)


@dataclass(frozen=True)
class Files:
    """The content of a folder. images: match key -> paths of that image's copies, the one to use first.

    tables: files with a header of metadata; others: other table files, and why they are none; strays: in words,
    unfinished downloads and the like; zips: see `describe_zip`; links: the number of links to folders not followed,
    which are all except those in the folder itself that lead out of it.
    """

    folder: Path
    images: dict[str, list[Path]]
    tables: list[Path]
    others: dict[Path, str]
    strays: list[str]
    zips: list[Path]
    links: int

    @property
    def num_copies(self) -> int:
        """How many image files are further copies of another one."""
        return sum(len(paths) - 1 for paths in self.images.values())


def find_folder(data_root: str | os.PathLike) -> Path | None:
    """The folder ham10000 under data_root, in any case, or data_root itself where it holds the data; else None."""
    root = Path(data_root)
    if not root.is_dir():
        return None
    children = sorted(root.iterdir(), key=lambda path: (path.name != "ham10000", path.name))
    named = [path for path in children if path.name.casefold() == "ham10000" and path.is_dir()]
    if named:
        return named[0]
    return root if any(_is_own(path) for path in children) else None


def find_files(folder: Path) -> Files:
    """All images, tables and archives in and below a folder, in an order that depends only on the names.

    Images with the same key of their stem are copies, of which the one nearest to the top counts, in the first folder
    by name. Hidden files, macOS extras and links to folders are ignored.
    """
    images, tables, others, strays, zips = {}, [], {}, [], []
    paths, links = _walk(folder)
    for path in sorted(paths, key=lambda path: _order(path, folder)):
        suffix = path.suffix.casefold()
        if suffix in IMAGE_SUFFIXES:
            images.setdefault(match_key(path.stem), []).append(path)
        elif suffix in TABLE_SUFFIXES:
            problem = _why_no_metadata(path)
            if problem:
                others[path] = problem
            else:
                tables.append(path)
        elif suffix == ".zip":
            zips.append(path)
        else:
            strays += _describe_stray(path, suffix)
    return Files(folder=folder, images=images, tables=tables, others=others, strays=strays, zips=zips, links=links)


def _walk(folder: Path) -> tuple[list[Path], int]:
    """All regular files that are not hidden, at most MAX_DEPTH folders deep, and the number of links not followed."""
    paths, links = [], 0
    for parent, folders, names in os.walk(folder, followlinks=True):
        here = Path(parent)
        inner = [name for name in folders if not is_hidden(name)]
        followed = [name for name in inner if not (here / name).is_symlink() or _leads_out(here / name, folder)]
        links += len(inner) - len(followed)
        folders[:] = followed if len(here.relative_to(folder).parts) < MAX_DEPTH else []
        paths += [here / name for name in names if not is_hidden(name) and (here / name).is_file()]
    return paths, links


def _leads_out(link: Path, folder: Path) -> bool:
    """Whether a link is in the folder itself and leads beside it, where it makes neither loops nor copies."""
    target, home = link.resolve(), folder.resolve()
    return link.parent == folder and not target.is_relative_to(home) and not home.is_relative_to(target)


def _order(path: Path, folder: Path) -> tuple[int, str, str, str]:
    """Sort key: depth, folder and stem, ignoring case, so that "ISIC_1" comes before "ISIC_1 (1)"."""
    inner = path.parent.relative_to(folder)
    return len(inner.parts), inner.as_posix().casefold(), path.stem.casefold(), path.as_posix()


def _is_own(path: Path) -> bool:
    if path.name.casefold().startswith(OWN_PREFIXES):
        return True
    return path.suffix.casefold() in TABLE_SUFFIXES and path.is_file() and not _why_no_metadata(path)


def _why_no_metadata(path: Path) -> str:
    """Why a file's header is not one of metadata; empty where it is."""
    try:
        return "" if describes_images(path) else f"{path} has neither diagnoses nor lesions"
    except (ValueError, OSError) as problem:
        return str(problem)


def _describe_stray(path: Path, suffix: str) -> list[str]:
    if suffix in UNFINISHED_SUFFIXES:
        return [f"{path.name} is an unfinished download"]
    if suffix == ".npz" and "dermamnist" in path.name.casefold():
        return [f"{path.name} is {DERMAMNIST}"]
    return []


def describe_zip(path: Path) -> str:
    """What a zip in the folder is, in words. One with a publisher's name is compared by size and MD5: seconds."""
    problem = _unlike_published(path)
    if problem:
        return f"{path.name} {problem}"
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not any(map(is_hidden, Path(name).parts))]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        size = path.stat().st_size
        return f"{path.name} is no whole zip ({size:,} bytes): an incomplete download, get it again"
    count = sum(name.casefold().endswith(IMAGE_SUFFIXES) for name in names)
    return f"{path.name} is not unpacked ({count:,} images in it): unpack it there"


def _unlike_published(path: Path) -> str:
    """How a zip with a published name differs from the published one; empty where it does not, or has another name."""
    if path.name.casefold() not in PUBLISHED_ZIPS:
        return ""
    size, digest = PUBLISHED_ZIPS[path.name.casefold()]
    found = path.stat().st_size
    if found < size:
        return f"has {found:,} of the published {size:,} bytes: an incomplete download, get it again"
    with path.open("rb") as file:
        if found == size and hashlib.file_digest(file, "md5").hexdigest() == digest:
            return ""
    return f"is not the published file ({found:,} of {size:,} bytes, MD5 not {digest}): get it again"
