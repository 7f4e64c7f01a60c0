"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole, or, where that fails, stays as it was. OSError names it."""
    temporary = path.with_name(path.name + ".part")
    with named_when_it_fails(path):
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


@contextmanager
def named_when_it_fails(path: Path) -> Iterator[Path]:
    """Say which file cannot be written, and what to do; its unfinished part is removed."""
    try:
        yield path
    except OSError as problem:
        path.with_name(path.name + ".part").unlink(missing_ok=True)
        raise OSError(
            f"{path} cannot be written: {problem.strerror or problem}. What was stored before is still there: make "
            "room, or see to the folder, and start the run again to go on from there"
        ) from problem
