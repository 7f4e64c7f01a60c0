"""A lock on a folder: of all the programs that want to write to it, on one machine or several, one does at a time.

The lock is a file beside the folder, FOLDER.lock, which exists while the lock is held. The operating system releases
its lock on that file when the program dies, however it dies. Some file systems have no such locks, or silently confine
them to one machine, so the owner also writes a new number into the file every BEAT_SECONDS: an owner on another machine
counts as dead once its number has not changed for QUIET_SECONDS, by the clock of the program that waits.

Not filelock: its lease, the only one of its locks for several machines, also takes the folder from a program of this
machine that is only suspended, as SLURM does with jobs, and both then write.
"""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from l2d_core.common.files import open_regular

try:
    import fcntl
except ImportError:  # Windows: only the numbers count there
    fcntl = None

BEAT_SECONDS, QUIET_SECONDS, LOOK_SECONDS = 5.0, 40.0, 0.3
RECORD_BYTES = 256  # always the same, so that an owned file is never seen half written or empty


class FolderTaken(RuntimeError):
    """Another program has the folder: this one was presumed dead, or has stopped waiting for it."""


@dataclass(frozen=True)
class _Claim:
    path: Path
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    lost: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def hold(folder: str | os.PathLike, *, may_wait: Callable[[], bool] = lambda: True) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a folder or file, which need not exist yet; waits for its owner while may_wait() is True.

    Yields a function that returns whether the lock is still ours; once it is not, stop writing immediately.
    FolderTaken when may_wait() returns False; OSError if the lock file cannot be written.
    """
    claim = _Claim(_lock_file(folder))
    try:
        claim.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OSError(f"{os.fspath(folder)} cannot be made: {problem}") from problem
    descriptor = _take(claim, may_wait)
    beats = threading.Thread(target=_keep_beating, args=(claim,), daemon=True)
    beats.start()
    try:
        yield lambda: not claim.lost.is_set()
    finally:
        claim.released.set()
        beats.join()
        if _owner(claim.path) == claim.token:
            if fcntl is None:
                os.close(descriptor)  # Windows removes no open file
            claim.path.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(descriptor)


def is_held(folder: str | os.PathLike) -> bool:
    """Whether a program holds the lock of the folder at this moment."""
    try:
        descriptor = os.open(_lock_file(folder), os.O_RDWR)
    except OSError:
        return False
    try:
        has_lock = _lock(descriptor)  # released at once; those who wait for it try again
        is_fresh = time.time() - os.fstat(descriptor).st_mtime < QUIET_SECONDS
        return has_lock is False or (has_lock is None and is_fresh)
    finally:
        os.close(descriptor)


def _lock_file(folder: str | os.PathLike) -> Path:
    path = Path(os.path.abspath(folder))  # "." has no name of its own
    if not path.name:
        raise OSError(f"{path} cannot be locked, as there is no folder around it: name another folder")
    return path.with_name(path.name + ".lock")


def _take(claim: _Claim, may_wait: Callable[[], bool]) -> int:
    """Wait until nobody owns the file and make it ours; returns its descriptor, which holds the system's lock."""
    seen, since = None, 0.0
    while may_wait():
        descriptor, is_new = _open(claim.path)
        is_taken = False
        try:
            has_lock = _lock(descriptor)
            if has_lock is not False and _is_same(descriptor, claim.path):
                record = os.read(descriptor, RECORD_BYTES)
                if record != seen:
                    seen, since = record, time.monotonic()
                died_here = has_lock and _field(record, "machine") == _machine()
                if is_new or died_here or time.monotonic() - since >= QUIET_SECONDS:
                    _write(claim, 0)
                    is_taken = is_new or has_lock or _stays(claim)
        finally:
            if not is_taken:
                os.close(descriptor)
                if is_new:
                    claim.path.unlink(missing_ok=True)
        if is_taken:
            return descriptor
        time.sleep(LOOK_SECONDS)
    raise FolderTaken(f"{claim.path.with_suffix('')} is written by another program")


def _open(path: Path) -> tuple[int, bool]:
    """The descriptor of the file, and whether it is new; a new file is not taken by others before QUIET_SECONDS."""
    while True:
        with suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR), False


def _lock(descriptor: int) -> bool | None:
    """Request the system's lock: True if obtained, False if another has it, None if there are no such locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_same(descriptor: int, path: Path) -> bool:
    """Whether the opened file is still the one at that path: its last owner may have removed it since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _stays(claim: _Claim) -> bool:
    """Without the system's locks, two may take a dead owner's file at once: the last to write has it."""
    time.sleep(2 * BEAT_SECONDS)
    return _owner(claim.path) == claim.token


def _keep_beating(claim: _Claim) -> None:
    beat = 0
    while not claim.released.wait(BEAT_SECONDS):
        beat += 1
        with suppress(OSError):  # a file system that is away for a moment: those who wait only wait longer
            if _owner(claim.path) != claim.token:
                claim.lost.set()
                return
            _write(claim, beat)


def _write(claim: _Claim, beat: int) -> None:
    record = {"machine": _machine(), "pid": os.getpid(), "token": claim.token, "beat": beat}
    descriptor = os.open(claim.path, os.O_WRONLY)  # closed at once: network file systems then pass it on
    try:
        os.write(descriptor, json.dumps(record).encode().ljust(RECORD_BYTES))
    except OSError as problem:  # it does not name the file by itself
        raise OSError(
            f"{claim.path} cannot be written: {problem.strerror or problem}. Make room, or see to the folder, and "
            "start again"
        ) from problem
    finally:
        os.close(descriptor)


def _owner(path: Path) -> str | None:
    """The token in the file; None if there is no file or it cannot be read."""
    try:
        with open_regular(path) as file:
            return _field(file.read(RECORD_BYTES), "token")
    except FileNotFoundError:
        return None


def _field(record: bytes, name: str) -> str | None:
    try:
        value = json.loads(record)[name]
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None


def _machine() -> str:
    """This boot of this machine: programs with the same one see each other's locks."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()[:64]
