"""Trainings from a page on a full disk: each says so by name, none is lost, and all can go on when there is room."""

from pathlib import Path

import pytest
from killed_runs import assert_whole, epochs_done
from small_disk import small_disk
from small_jobs import LONG, SHORT, wait_until

from app.jobs.board import JobBoard
from app.jobs.trainer import Trainer

FULL = "cannot be written: No space left on device"


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture
def board(disk):
    made = JobBoard(disk.folder, data_root=Path("nowhere"), device="cpu", workers=1)
    yield made
    made.close()


@pytest.mark.slow
def test_a_training_whose_disk_fills_up_says_so_keeps_its_epochs_and_goes_on_later(disk, board):
    link = board.start("filled", LONG)
    folder = disk.folder / link.id
    wait_until(lambda: epochs_done(folder) >= 1, "an epoch")
    disk.fill()
    wait_until(lambda: board.look(link.id).state == "failed", f"the end of {board.look(link.id)}")
    view = board.look(link.id)
    assert FULL in view.message
    assert str(disk.folder) not in view.message  # where it lies is no visitor's business
    assert [one.state for one in board.list()] == ["failed"]
    assert_whole(folder)
    for change in (board.resume, lambda owner: board.rename(owner, "another")):
        with pytest.raises(OSError, match=FULL):
            change(link)
    assert board.look(link.id).name == "filled"
    disk.make_room()
    board.resume(link)
    wait_until(lambda: epochs_done(folder) > len(view.history), "another epoch")
    assert board.look(link.id).history[: len(view.history)].equals(view.history)


def test_a_training_that_cannot_be_handed_in_leaves_nothing(disk, board, monkeypatch):
    monkeypatch.setattr(Trainer, "add", lambda *_: None)
    for pages_left in (0, 1):  # of config.json and job.json
        disk.fill(pages_left)
        with pytest.raises(OSError, match=FULL) as problem:
            board.start("late", SHORT)
        assert str(disk.folder) not in str(problem.value)
        assert board.list() == []
        assert [path.name for path in disk.folder.iterdir()] == [".filler"]
        disk.make_room()
    board.start("in time", SHORT)
    assert [view.name for view in board.list()] == ["in time"]
