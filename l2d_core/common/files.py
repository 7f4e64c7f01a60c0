"""Files that are written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or, on failure, leave it as it was. OSError names it."""
    temporary = path.with_name(path.name + ".part")
    with named_when_it_fails(path):
        with temporary.open("wb") as file:
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
