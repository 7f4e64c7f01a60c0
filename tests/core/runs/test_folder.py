"""Run folders: written whole, read back as they were, and messages for folders that are damaged, foreign or old."""

import errno
import json
import os
import shutil
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch
from made_runs import CONFIG, report, some_scores, write_run

from l2d_core.common.files import write_whole
from l2d_core.config import MAX_EPOCHS
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.runs import folder as runs
from l2d_core.runs.folder import (
    begin_run,
    copy_results,
    is_done,
    list_runs,
    open_run,
    read_history,
    save_progress,
    verify_run,
)


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path / "run")


def change_json(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def test_a_run_is_read_back_as_it_was_written(folder):
    run = verify_run(folder)
    assert run.folder == folder
    assert run.config == CONFIG
    assert run.is_done
    assert run.environment["wall_seconds"] == 7.5
    np.testing.assert_array_equal(run.validation.logits, some_scores().logits)
    np.testing.assert_array_equal(run.test.logits, some_scores(seed=1).logits)
    assert run.load_model()(torch.zeros(2, 3, 8, 8)).shape == (2, 4)


def test_the_history_of_the_longest_run_can_be_read(folder):
    header, row = (folder / "history.csv").read_text(encoding="utf-8").splitlines()[:2]
    numbers = row.partition(",")[2]
    lines = [header, *(f"{epoch},{numbers}" for epoch in range(1, MAX_EPOCHS + 1))]
    (folder / "history.csv").write_text("\n".join(lines), encoding="utf-8")
    assert (folder / "history.csv").stat().st_size > 4 * 2**20
    assert len(read_history(folder)) == MAX_EPOCHS


def test_the_history_keeps_every_digit_and_missing_numbers(folder):
    odd = replace(report(1, loss=0.1 + 0.2), system_accuracy=None, seconds=1 / 3)
    save_progress(folder, [odd], {"wall_seconds": 1.0}, "running")
    (row,) = read_history(folder).to_dict("records")
    assert pd.isna(row.pop("system_accuracy"))
    assert row == {name: value for name, value in asdict(odd).items() if name != "system_accuracy"}
    assert list(read_history(folder)) == list(EpochReport.__dataclass_fields__)


@pytest.mark.parametrize("state", ["done", "stopped"])
def test_a_stopped_run_can_be_opened_but_is_not_done(tmp_path, state):
    run = open_run(write_run(tmp_path / "run", state=state))
    assert run.is_done == (state == "done")
    assert is_done(run.folder, CONFIG) == (state == "done")


def test_a_run_that_has_not_ended_says_how_far_it_is(folder):
    save_progress(folder, [report(1)], {"wall_seconds": 1.0}, "running")
    with pytest.raises(ValueError, match=r"has not ended, 1 of 3 epochs are done: wait for it, or, .* start it again"):
        open_run(folder)
    (folder / "environment.json").unlink()
    (folder / "history.csv").unlink()
    with pytest.raises(ValueError, match="has not ended, 0 of 3 epochs"):
        open_run(folder)


def test_a_folder_that_is_none_or_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none"):
        open_run(tmp_path / "none")
    with pytest.raises(ValueError, match=r"is not the folder of a run: it lacks config\.json"):
        open_run(tmp_path)


@pytest.mark.parametrize("name", runs.RESULTS)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match=f"lacks {name}: put them back"):
        open_run(folder)


@pytest.mark.parametrize("name", ["config.json", "environment.json", *runs.RESULTS])
@pytest.mark.parametrize("content", [b"", b"\x00\xff nonsense", b"[1]"])
def test_a_damaged_file_is_named(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        verify_run(folder)


@pytest.mark.parametrize("name", ["config.json", "environment.json"])
def test_a_run_of_another_version_is_refused(folder, name):
    change_json(folder / name, version=0)
    with pytest.raises(ValueError, match=f"{name}.* version 0, and this program reads version 1"):
        open_run(folder)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("environment.json", {"state": "asleep"}, "must say state, one of running, stopped, done"),
        ("environment.json", {"wall_seconds": "long"}, "wall_seconds, a number"),
        ("environment.json", {"wall_seconds": 10**400}, "wall_seconds, a number"),
        ("config.json", {"epochs": 2}, "a row for each epoch from 1 to 2 at most"),
        (
            "config.json",
            {"surrogate": "softmax"},
            r"scores_validation\.npz is of another run: .* one_vs_all, not softmax",
        ),
        ("config.json", {"model": "wide_resnet"}, r"model\.safetensors is of another run"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(folder, name, values, message):
    change_json(folder / name, **values)
    with pytest.raises(ValueError, match=message):
        verify_run(folder)


def test_a_list_shows_good_and_bad_runs_and_leaves_the_rest_out(tmp_path):
    write_run(tmp_path / "b done")
    write_run(tmp_path / "a stopped", state="stopped", epochs=2)
    write_run(tmp_path / "c damaged")
    (tmp_path / "c damaged" / "scores_test.npz").write_bytes(b"")
    begin_run(tmp_path / "d begun", CONFIG)
    write_run(tmp_path / "e old")
    change_json(tmp_path / "e old" / "config.json", version=0)
    (tmp_path / "f other").mkdir()
    (tmp_path / "g file").touch()
    listed = list_runs(tmp_path)
    assert [(entry.folder.name, entry.state, entry.epochs) for entry in listed] == [
        ("a stopped", "stopped", 2),
        ("b done", "done", 3),
        ("c damaged", "done", 3),
        ("d begun", "running", 0),
        ("e old", "", 0),
    ]
    assert [bool(entry.problem) for entry in listed] == [False, False, True, False, True]
    assert "scores_test.npz" in listed[2].problem
    assert listed[0].config == CONFIG
    assert listed[4].config is None
    assert list_runs(tmp_path / "none") == []


def test_the_same_run_may_begin_again_and_others_may_not(folder):
    before = (folder / "config.json").read_bytes()
    begin_run(folder, CONFIG)
    for check in (begin_run, is_done):
        with pytest.raises(ValueError, match=r"other settings: epochs \(3 there, 9 now\), seed \(0 there, 1 now\)"):
            check(folder, replace(CONFIG, epochs=9, seed=1))
    assert (folder / "config.json").read_bytes() == before


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ValueError, match="holds other files, and no run: name a new folder"):
        begin_run(tmp_path, CONFIG)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_left_by_a_program_that_was_killed_at_once_can_be_begun(tmp_path):
    (tmp_path / "config.json.part").write_bytes(b"{")
    begin_run(tmp_path, CONFIG)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "history.csv"
    write_whole(path, b"before")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        OSError, match=r"history\.csv cannot be written: No space left on device.*still there: make room"
    ):
        write_whole(path, b"after")
    with pytest.raises(OSError, match=r"scores_validation\.npz cannot be written: No space left"):
        runs.save_results(tmp_path, some_scores(), some_scores(), b"")
    assert path.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["history.csv"]


def test_a_copy_is_a_run_without_its_checkpoint(folder, tmp_path):
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "training.pt").write_bytes(b"large")
    copy_results(folder, tmp_path / "deep" / "copy")
    assert verify_run(tmp_path / "deep" / "copy").is_done
    assert not (tmp_path / "deep" / "copy" / "checkpoint").exists()


def test_a_run_may_be_moved(folder, tmp_path):
    shutil.move(folder, tmp_path / "moved")
    assert verify_run(tmp_path / "moved").folder == tmp_path / "moved"
