"""A lock on a folder: one owner at a time, free again when the owner ends or dies, here or on another machine."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from l2d_core.common.paths import PROGRAM
from l2d_core.runs import lock
from l2d_core.runs.lock import RECORD_BYTES, FolderTaken, hold

HOLD = """
import sys
from l2d_core.runs.lock import hold
with hold(sys.argv[1]):
    print("held", flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name, seconds in (("BEAT_SECONDS", 0.05), ("QUIET_SECONDS", 0.4), ("LOOK_SECONDS", 0.01)):
        monkeypatch.setattr(lock, name, seconds)


@pytest.fixture(params=["with the system's locks", "without them"])
def _locks(request, monkeypatch):
    if request.param == "without them":
        monkeypatch.setattr(lock, "fcntl", None)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "a.run"


def lock_of(folder):
    return folder.with_name("a.run.lock")


def write_record(folder, **changes):
    record = {"machine": "another", "pid": 1, "token": "theirs", "beat": 0, **changes}
    lock_of(folder).write_bytes(json.dumps(record).encode().ljust(RECORD_BYTES))


def times(count):
    """may_wait that says yes so many times."""
    left = iter(range(count))
    return lambda: next(left, None) is not None


@pytest.mark.usefixtures("_locks")
def test_there_is_a_file_while_the_lock_is_held_and_none_after(folder):
    for _ in range(2):
        with hold(folder) as is_ours:
            assert is_ours()
            assert len(lock_of(folder).read_bytes()) == RECORD_BYTES
            assert json.loads(lock_of(folder).read_bytes())["pid"] == os.getpid()
        assert list(folder.parent.iterdir()) == []


@pytest.mark.usefixtures("_locks")
def test_of_many_at_once_one_has_it_at_a_time(folder):
    inside, most = [], []

    def enter():
        with hold(folder) as is_ours:
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.1)
            assert is_ours()
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


@pytest.mark.usefixtures("_locks")
def test_who_has_waited_enough_is_told_so(folder):
    with hold(folder), pytest.raises(FolderTaken, match=r"a\.run is written by another program"):
        hold(folder, may_wait=times(3)).__enter__()


def test_an_owner_that_is_killed_leaves_the_folder_to_the_next_at_once(folder, monkeypatch):
    monkeypatch.setattr(lock, "QUIET_SECONDS", 3600)
    command = [sys.executable, "-c", HOLD, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=PROGRAM, **pipes) as owner:
        owner.stdout.readline()
        with pytest.raises(FolderTaken):
            hold(folder, may_wait=times(3)).__enter__()
        owner.kill()
        owner.wait()
        assert lock_of(folder).exists()
        with hold(folder, may_wait=times(1)) as is_ours:
            assert is_ours()


class Clock:
    """Time that passes only in sleep; the owner on another machine writes every 5 seconds, for 50."""

    def __init__(self, folder):
        self.folder, self.now = folder, 0.0
        write_record(folder)

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        if self.now < 50:
            write_record(self.folder, beat=int(self.now / 5))


def test_an_owner_on_another_machine_is_waited_for_until_it_stands_still(folder, monkeypatch):
    clock = Clock(folder)
    monkeypatch.setattr(lock, "time", clock)
    for name, seconds in (("QUIET_SECONDS", 40.0), ("LOOK_SECONDS", 1.0)):
        monkeypatch.setattr(lock, name, seconds)
    with hold(folder) as is_ours:
        assert is_ours()
        assert 45 + 40 <= clock.now <= 45 + 40 + 2  # its last number came in second 45


@pytest.mark.usefixtures("_locks")
def test_who_was_taken_for_dead_learns_that_the_folder_is_anothers_and_leaves_it_to_them(folder):
    with hold(folder) as is_ours:
        write_record(folder)
        deadline = time.monotonic() + 60
        while is_ours():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert json.loads(lock_of(folder).read_bytes())["token"] == "theirs"


def test_of_two_that_take_it_at_once_without_locks_the_last_one_has_it(folder, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "QUIET_SECONDS", 0)
    write_record(folder)
    write = lock._write

    def write_and_lose(claim, beat):
        write(claim, beat)
        write_record(folder, token="the last")

    monkeypatch.setattr(lock, "_write", write_and_lose)
    with pytest.raises(FolderTaken):
        hold(folder, may_wait=times(1)).__enter__()
    assert json.loads(lock_of(folder).read_bytes())["token"] == "the last"


@pytest.mark.usefixtures("_locks")
def test_a_lock_that_cannot_be_written_leaves_no_file(folder, monkeypatch):
    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(lock, "_write", full)
    with pytest.raises(OSError, match="disk full"):
        hold(folder).__enter__()
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[1]", b'{"machine": 3}', b"\xff" * RECORD_BYTES])
def test_a_damaged_record_is_waited_for_as_another_machines(folder, content):
    lock_of(folder).write_bytes(content)
    with pytest.raises(FolderTaken):
        hold(folder, may_wait=times(2)).__enter__()
    with hold(folder) as is_ours:
        assert is_ours()


def test_a_record_has_room_for_the_longest_names(folder):
    with hold(folder):
        record = json.loads(lock_of(folder).read_bytes())
        assert len(json.dumps({**record, "machine": "x" * 64, "beat": 10**9, "pid": 2**22})) <= RECORD_BYTES


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        hold(tmp_path / "file" / "run").__enter__()
