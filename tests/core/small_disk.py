"""A disk of a few megabytes, for tests that fill it."""

import subprocess
from contextlib import contextmanager, suppress

import pytest

PAGE = 4096  # what a file takes at least on this disk, and in steps of which it grows


class SmallDisk:
    """folder: where it is mounted."""

    def __init__(self, folder):
        self.folder, self._filler = folder, folder / ".filler"

    def fill(self, pages_left=0):
        """Leave room for so many pages, of files that are not there yet."""
        with self._filler.open("ab", buffering=0) as file:
            with suppress(OSError):  # no space is left
                while True:
                    file.write(bytes(PAGE))
            file.truncate(file.tell() // PAGE * PAGE - pages_left * PAGE)

    def make_room(self):
        self._filler.unlink()


@contextmanager
def small_disk(folder, size="16m"):
    """A file system of that size at the folder; the test is skipped where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("this system has no program to mount a disk")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
