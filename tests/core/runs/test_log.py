"""What a run's folder says while it trains: progress in the epoch, and a log that grows line by line."""

import json
import os
from types import SimpleNamespace

import pytest

from l2d_core.config import RunConfig
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.runs import log
from l2d_core.runs.folder import CONFIG as CONFIG_FILE
from l2d_core.runs.folder import begin_run, read_config
from l2d_core.runs.index import INDEX, index_runs
from l2d_core.runs.lock import hold, is_held
from l2d_core.runs.log import LOG, PROGRESS, Progress, add_line, keep_log, read_log, read_progress

CONFIG = RunConfig(batch_size=50, epochs=10)


@pytest.fixture
def folder(tmp_path):
    begin_run(tmp_path / "run", CONFIG)
    return tmp_path / "run"


def test_progress_is_of_the_steps_since_this_start(folder, monkeypatch):
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(log, "time", clock)
    on_step, _ = keep_log(folder, CONFIG)
    on_step(21, 100)  # the first after a pause: what came before it was not timed
    assert read_progress(folder) is None
    clock.now += 4
    on_step(29, 100)
    assert read_progress(folder) == Progress(29, 100, images_per_second=8 * 50 / 4, seconds_left=71 / 2)
    clock.now += 0.4
    on_step(30, 100)
    assert read_progress(folder).steps_done == 29  # not written at every step


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"steps_done": 1}',
        '{"steps_done": 1, "steps_total": 0, "images_per_second": 1, "seconds_left": 1}',
        '{"steps_done": "x", "steps_total": 2, "images_per_second": 1, "seconds_left": 1}',
        '{"steps_done": 1, "steps_total": "2", "images_per_second": 1, "seconds_left": 1}',
        '{"steps_done": 1, "steps_total": 2, "images_per_second": 1, "seconds_left": NaN}',
        '{"steps_done": 1, "steps_total": 2, "images_per_second": Infinity, "seconds_left": 1}',
        f'{{"steps_done": 1, "steps_total": 1{"0" * 400}, "images_per_second": 1, "seconds_left": 1}}',
        '{"steps_done": -1, "steps_total": 2, "images_per_second": 1, "seconds_left": 1}',
        json.dumps({"steps_done": 1, "steps_total": 2, "images_per_second": 1, "seconds_left": [1]}),
    ],
)
def test_progress_that_cannot_be_read_is_none(folder, content):
    (folder / PROGRESS).write_text(content)
    assert read_progress(folder) is None


@pytest.mark.timeout(30)
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(folder):
    for name in (LOG, PROGRESS, f"{PROGRESS}.part", INDEX):
        os.mkfifo(folder / name)
    add_line(folder, "lost")
    assert (read_log(folder), read_progress(folder)) == ("", None)
    log._write_progress(folder, Progress(1, 2, 3.0, 4.0))
    assert index_runs(folder).empty
    (folder / CONFIG_FILE).unlink()
    os.mkfifo(folder / CONFIG_FILE)
    for read in (
        read_config,
        lambda folder: begin_run(folder, CONFIG),
        lambda folder: RunConfig.load(folder / CONFIG_FILE),
    ):
        with pytest.raises((OSError, ValueError)):
            read(folder)


def test_each_epoch_is_a_line_with_its_time(folder):
    _, on_epoch = keep_log(folder, CONFIG)
    for epoch in (1, 2):
        on_epoch(EpochReport(epoch, 1.5, 1.25, 0.8, None, 0.1, 0.1, 1234.0, 1.0))
    first, second = read_log(folder).splitlines()
    assert "epoch  1 of 10: loss 1.500 nats, on validation 1.250; system accuracy 80.0 %, coverage -" in first
    assert first[:4].isdecimal()
    assert "epoch  2 of 10" in second


def test_a_log_is_only_kept_in_the_folder_of_a_run_and_its_end_is_read_in_whole_lines(folder, tmp_path):
    (tmp_path / "other").mkdir()
    add_line(tmp_path / "other", "lost")
    assert read_log(tmp_path / "other") == ""
    (folder / LOG).write_text("".join(f"line {number}\n" for number in range(20_000)))
    lines = read_log(folder).splitlines()
    assert lines[-1] == "line 19999"
    assert lines[0].startswith("line ")
    assert int(lines[0].split()[1]) == 20_000 - len(lines)


def test_a_folder_is_held_while_someone_writes_it_and_asking_takes_it_from_nobody(folder):
    assert not is_held(folder)
    with hold(folder) as is_ours:
        assert is_held(folder)
        assert is_held(folder)
        assert is_ours()
    assert not is_held(folder)
    folder.with_name("run.lock").write_text("{}")  # left by one who died
    assert not is_held(folder)
