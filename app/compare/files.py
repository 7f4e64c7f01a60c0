"""Files of predictions on the server, below one root only: chosen from a list, never typed."""

import os
from pathlib import Path

from app.compare.uploads import FLAGS, MAX_FILE_BYTES, PROBABILITIES

ENDINGS = (".npz", ".csv", ".parquet", ".json")
MAX_DEPTH, MAX_FILES = 4, 500


def list_files(top: Path) -> list[str]:
    """Files that may hold predictions, by their path below `top`; no link to a folder is followed."""
    found: list[str] = []
    for path, folders, files in os.walk(top):
        place = Path(path).relative_to(top)
        folders[:] = [] if len(place.parts) >= MAX_DEPTH else sorted(one for one in folders if not one.startswith("."))
        named = (name for name in sorted(files) if name.lower().endswith(ENDINGS) and not name.startswith("."))
        found += [(place / name).as_posix() for name in named if not name.endswith(f"{FLAGS}.json")]
        if len(found) >= MAX_FILES:
            break
    return found[:MAX_FILES]


def read_files(top: Path, name: str) -> list[tuple[bytes, str]]:
    """The bytes and the name of a file of `list_files`, and of its other half, where it is one of the authors' two.

    One byte more than is allowed of a file that is too large. ValueError where it is none of these files, or a link
    leads out of `top`; OSError where it cannot be read.
    """
    if name not in list_files(top):
        raise ValueError("the file must be one of those that are listed")
    paths = [top / name]
    other = name.removesuffix(f"{PROBABILITIES}.json")
    if other != name and (top / f"{other}{FLAGS}.json").is_file():
        paths.append(top / f"{other}{FLAGS}.json")
    if not all(path.resolve().is_relative_to(top.resolve()) for path in paths):
        raise ValueError(f"{name} is a link that leads out of the folder of data")
    return [(_read(path), path.name) for path in paths]


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)
