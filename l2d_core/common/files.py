"""Files that are written completely or not at all, and regular files only."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_SYSTEM_NAMES = {"__macosx", "__pycache__", "thumbs.db", "desktop.ini", "lost+found", "system volume information"}


def open_regular(path: str | os.PathLike, mode: str = "rb", **options: Any) -> IO:
    """`open`, but OSError for what is no regular file: a pipe or a device could keep its reader for ever."""
    file = open(path, mode, opener=_at_once, **options)  # noqa: SIM115 (its caller closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    return file


def _at_once(path: str, flags: int) -> int:
    """An opener that does not wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name belongs to a system or a tool: notebooks, file browsers, archivers."""
    return name.startswith((".", "@", "~$", "$")) or name.casefold() in _SYSTEM_NAMES


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or, on failure, leave it as it was. OSError names it."""
    temporary = path.with_name(path.name + ".part")
    with named_when_it_fails(path):
        with open_regular(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


@contextmanager
def named_when_it_fails(path: Path) -> Iterator[Path]:
    """Turn an OSError into one that names the file and says what to do; the unfinished part is removed."""
    try:
        yield path
    except OSError as problem:
        path.with_name(path.name + ".part").unlink(missing_ok=True)
        raise OSError(
            f"{path} cannot be written: {problem.strerror or problem}. What was stored before is still there: make "
            "room, or see to the folder, and start the run again to go on from there"
        ) from problem
