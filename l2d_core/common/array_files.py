"""Plain arrays in an .npz file: written whole or not at all, read safely: no pickles, zip bombs or false sizes."""

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import IOBase
from pathlib import Path
from typing import Any

import numpy as np

from l2d_core.common.checks import brief
from l2d_core.common.file_kinds import LFS_POINTER, describe_file
from l2d_core.common.files import open_regular

# For an .npz from outside; arrays of numbers compress little, and the ratio is only checked above FREE_BYTES.
MAX_ARRAYS, MAX_RATIO, FREE_BYTES = 1_000, 100, 64 * 2**20
MAX_TEXT = 1_000  # characters of an id or a name: what is longer, no page can show
_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's index


def save_arrays(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz of plain arrays; the same arrays give the same bytes. The file appears whole or not at all.

    OSError names the file where it cannot be written.
    """
    path = Path(path)
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, "it names no file", os.fspath(path))
    temporary = path.with_name(path.name + ".part")
    try:
        with open_regular(temporary, "wb") as file:
            np.savez_compressed(file, **_without_objects(arrays))  # pyright: ignore[reportArgumentType]
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink()
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem


def _without_objects(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} must be a plain array, got {array.dtype}: it could only be stored as a pickle")
    return dict(arrays)


def load_arrays(source: str | os.PathLike | IOBase, max_bytes: int) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name. No pickle; ValueError names the file where it is not such a file.

    max_bytes bounds the unpacked size, read from the archive's own index before anything is unpacked; so does
    MAX_RATIO times the size of the file.
    """
    is_path = isinstance(source, str | os.PathLike)
    name = source if is_path else getattr(source, "name", source)
    try:
        if not is_path:
            return _read_arrays(source, max_bytes)
        with open_regular(source) as file:
            return _read_arrays(file, max_bytes)
    except FileNotFoundError:
        raise
    except Exception as problem:
        raise ValueError(f"{name} is not a readable .npz file of plain arrays: {problem}") from problem


def _read_arrays(file: Any, max_bytes: int) -> dict[str, np.ndarray]:
    size, count = _measure(file)
    head = file.read(2048)
    file.seek(0)
    if head and not head.startswith(b"PK"):
        kind = describe_file(head)
        raise ValueError(f"it is {kind.what}" + (f": {kind.table_advice}" if kind is LFS_POINTER else ""))
    if count > MAX_ARRAYS:  # each entry takes memory as soon as the index is read
        raise ValueError(f"it holds {count:,} arrays, allowed are {MAX_ARRAYS:,}")
    with np.load(file, allow_pickle=False) as archive:
        unpacked = sum(member.file_size for member in archive.zip.infolist())
        if unpacked > max_bytes:
            raise ValueError(f"it unpacks to {unpacked:,} bytes, more than the {max_bytes:,} allowed")
        if unpacked > max(FREE_BYTES, MAX_RATIO * size):
            raise ValueError(f"it unpacks to over {MAX_RATIO} times its size, as a zip bomb does")
        arrays = {key: archive[key] for key in archive.files}
    strangers = [key for key, value in arrays.items() if not isinstance(value, np.ndarray)]
    if strangers:
        raise ValueError(f"its member {brief(strangers[0])} is not an array")
    for key, value in arrays.items():
        if value.size and not value.dtype.itemsize:  # any number of them take no room, until they become texts
            raise ValueError(f"its array {brief(key)} has items of no size")
    return arrays


def _measure(file: Any) -> tuple[int, int]:
    """The size of a file in bytes and the largest number of entries in its index; rewinds the file."""
    size, count, last = 0, 0, b""
    file.seek(0)
    while part := file.read(2**20):
        size += len(part)
        count += (last + part).count(_ENTRY)
        last = part[1 - len(_ENTRY) :]
    file.seek(0)
    return size, count


def as_texts(name: str, array: np.ndarray) -> np.ndarray:
    """Texts as they are, and whole numbers as text: another program's ids may be numbers. ValueError names others."""
    if array.dtype.kind not in "Uiu":
        raise ValueError(f"{name} must be text, got {array.dtype}")
    if array.dtype.kind == "U" and array.dtype.itemsize > 4 * MAX_TEXT:
        raise ValueError(f"{name} must have at most {MAX_TEXT:,} characters each, got {array.dtype.itemsize // 4:,}")
    array = array.astype(str, copy=False)
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    if codes.size and (codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes <= 0xDFFF)).any()):
        raise ValueError(f"{name} must be text in Unicode, got what is no letter of it")
    return array


def require_few_rows(arrays: Mapping[str, np.ndarray], most: float) -> None:
    """Raise ValueError where an array has more rows; as texts, numbers would take many times their size."""
    for name, array in arrays.items():
        if array.ndim and len(array) > most:
            raise ValueError(f"{brief(name)} must have at most {most:,} rows, got {len(array):,}")
