"""A disk that is full: a message that names the file, all that was stored before still there, and on it goes after."""

import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from killed_runs import assert_whole
from made_runs import CONFIG as MADE
from made_runs import add_made, write_run
from small_disk import small_disk

from l2d_core.experiment import run_experiment
from l2d_core.runs.folder import CHECKPOINT, open_run, verify_run
from l2d_core.runs.index import INDEX, index_runs
from l2d_core.runs.lock import hold
from l2d_core.sweeps.cluster import run_many
from l2d_core.training.checkpoints import load_checkpoint

CONFIG = replace(MADE, model="wide_resnet", model_options={"depth": 10, "width": 1})
FULL = r"cannot be written: No space left on device"


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def train(folder, **options):
    return run_experiment(CONFIG, data_root="nowhere", device="cpu", folder=folder, **options)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        add_made(patch)
        return train(tmp_path_factory.mktemp("calm") / "run")


# After so many epochs there are so many pages left: too few for the checkpoint, the scores, or the weights, or enough.
@pytest.mark.parametrize("left", [(1, 0), (1, 3), (3, 0), (3, 1), (3, 2), (3, 20), (1, 1000)])
def test_a_disk_that_fills_up_in_a_training_costs_no_epoch(disk, calm, monkeypatch, left):
    add_made(monkeypatch)
    folder, (epochs, pages) = disk.folder / "run", left
    is_enough = pages == 1000
    with nullcontext() if is_enough else pytest.raises(OSError, match=FULL) as caught:
        train(folder, on_epoch=lambda report: disk.fill(pages) if report.epoch == epochs else None)
    assert_whole(folder)
    assert len(load_checkpoint(folder / CHECKPOINT).history) == (3 if is_enough else epochs)
    assert not list(folder.rglob("*.part"))
    if not is_enough:
        assert re.search(
            r"disk/run/[\w/]+\.\w+ cannot be written: .* What was stored before is still", str(caught.value)
        )
    disk.make_room()
    run = train(folder)
    assert verify_run(folder).is_done
    np.testing.assert_array_equal(run.test.logits, calm.test.logits)


def test_a_run_that_cannot_begin_says_so_and_can_begin_in_the_same_folder_later(disk, monkeypatch):
    add_made(monkeypatch)
    disk.fill()
    with pytest.raises(OSError, match=rf"run/config\.json {FULL}"):
        train(disk.folder / "run")
    disk.make_room()
    assert train(disk.folder / "run").is_done


def test_a_lock_that_finds_no_room_is_named_and_leaves_no_file(disk):
    disk.fill()
    with pytest.raises(OSError, match=rf"run\.lock {FULL}"):
        hold(disk.folder / "run").__enter__()
    assert not (disk.folder / "run.lock").exists()
    disk.make_room()
    with hold(disk.folder / "run") as is_ours:
        disk.fill()
        assert is_ours()


def test_a_sweep_that_cannot_write_its_table_says_so(disk):
    write_run(disk.folder / "a", MADE)
    disk.fill()
    with pytest.raises(OSError, match=rf"results\.csv[\w.]* {FULL}"):
        run_many({"a": MADE}, data_root="nowhere", out=disk.folder, device="cpu")
    assert open_run(disk.folder / "a").is_done


def test_runs_are_listed_all_the_same_and_the_index_of_before_stays_whole(disk):
    write_run(disk.folder / "a", MADE)
    before = index_runs(disk.folder)
    stored = (disk.folder / INDEX).read_bytes()
    write_run(disk.folder / "b", replace(MADE, seed=1))
    disk.fill()
    for _ in range(2):
        table = index_runs(disk.folder)
        assert list(table["run"]) == ["a", "b"]
        assert list(table["problem"]) == ["", ""]
    assert (disk.folder / INDEX).read_bytes() == stored
    assert not (disk.folder / f"{INDEX}.part").exists()
    disk.make_room()
    assert index_runs(disk.folder)[:1].equals(before)
    assert (disk.folder / INDEX).read_bytes() != stored
