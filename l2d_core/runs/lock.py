"""A lock on a folder: of all the programs that want to write it, on one machine or many, one does at a time.

The lock is a file beside the folder, FOLDER.lock, there while someone holds it. The system frees its lock on that
file when the program dies, however it dies. Some file systems have no such locks, or keep them to one machine
unsaid, so that the owner also writes a new number into it every BEAT_SECONDS: the owner on another machine is taken
for dead once its number has stood still for QUIET_SECONDS, on the clock of the one who waits.
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

try:
    import fcntl
except ImportError:  # Windows: only the numbers count there
    fcntl = None

BEAT_SECONDS, QUIET_SECONDS, LOOK_SECONDS = 5.0, 40.0, 0.3
RECORD_BYTES = 256  # always as long, so that a file is never seen half written or empty while it is owned


class FolderTaken(RuntimeError):
    """The folder went to another program, because this one was taken for dead, or it was waited for long enough."""


@dataclass(frozen=True)
class _Claim:
    path: Path
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    lost: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def hold(folder: str | os.PathLike, *, may_wait: Callable[[], bool] = lambda: True) -> Iterator[Callable[[], bool]]:
    """Be the only one who writes the folder, or file: waits for its owner, as long as may_wait() says so.

    Gives a function that says whether the folder is still ours; where it is not, stop writing at once. The folder
    itself need not be there yet. FolderTaken where may_wait() has had enough; OSError where no file can be made.
    """
    path = Path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    claim = _Claim(path.with_name(path.name + ".lock"))
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
    """Whether some program writes the folder, at this moment."""
    path = _Claim(Path(folder).with_name(Path(folder).name + ".lock")).path
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        has_lock = _lock(descriptor)  # which is given back at once; who wants it meanwhile asks again
        is_fresh = time.time() - os.fstat(descriptor).st_mtime < QUIET_SECONDS
        return has_lock is False or (has_lock is None and is_fresh)
    finally:
        os.close(descriptor)


def _take(claim: _Claim, may_wait: Callable[[], bool]) -> int:
    """Wait until the file is nobody's, and make it ours; gives its descriptor, which holds the system's lock."""
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
    """The descriptor of the file, and whether it is new: then nobody else takes it before it has stood still."""
    while True:
        with suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR), False


def _lock(descriptor: int) -> bool | None:
    """Ask the system for the lock: True, False where another has it, None where there are no such locks."""
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
    """Whether the file that was opened is still the one of that name: its last owner may have removed it since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _stays(claim: _Claim) -> bool:
    """Without the system's locks two may take a dead owner's file at once: the last one to write has it."""
    time.sleep(2 * BEAT_SECONDS)
    return _owner(claim.path) == claim.token


def _keep_beating(claim: _Claim) -> None:
    beat = 0
    while not claim.released.wait(BEAT_SECONDS):
        beat += 1
        with suppress(OSError):  # a file system that is away for a moment; who waits then waits for longer
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
    """The token in the file; None where there is no file, or none that can be read."""
    try:
        return _field(path.read_bytes()[:RECORD_BYTES], "token")
    except FileNotFoundError:
        return None


def _field(record: bytes, name: str) -> str | None:
    try:
        value = json.loads(record)[name]
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None


def _machine() -> str:
    """This start of this machine's system: programs that share it see each other's locks."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()[:64]
