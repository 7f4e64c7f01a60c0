"""Trainings started from a page: seen at once, in line, stopped, resumed, and found again after any death."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from dask.config import set as set_dask
from dask_processes import dask_cluster
from small_jobs import LONG, SHORT, wait_until

from app.jobs import folder as job_folder
from app.jobs.board import JobBoard, Link, NoSuchJob, NotYours
from app.jobs.cluster_process import NICENESS
from app.jobs.folder import JOB
from app.jobs.trainer import Trainer
from app.kit.processes import EXPENDABLE
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.runs import index
from l2d_core.runs.folder import read_environment, read_history, verify_run
from l2d_core.runs.index import index_runs
from l2d_core.runs.log import add_line


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board with one worker, in a process of its own."""
    made = JobBoard(tmp_path_factory.mktemp("runs"), data_root=Path("nowhere"), device="cpu", workers=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a Dask cluster with one worker, which is no part of a server."""
    with dask_cluster(tmp_path_factory.mktemp("dask")) as cluster:
        cluster.have_workers(1)
        yield cluster.address


@pytest.fixture
def idle(tmp_path, monkeypatch):
    """A board that hands nothing over."""
    monkeypatch.setattr(Trainer, "add", lambda *_: None)
    return JobBoard(tmp_path, data_root=Path("nowhere"), device="cpu")


HEADER = ",".join(column.name for column in fields(EpochReport)) + "\n"


def state(board, link):
    return board.look(link.id).state


def wait_for(board, link, *states):
    wait_until(lambda: state(board, link) in states, f"{states} of {board.look(link.id)}")


def wait_for_epochs(board, link, count):
    wait_until(lambda: len(board.look(link.id).history) >= count, f"{count} epochs of {board.look(link.id)}")


def trainer(board, link):
    """The process that trains the job."""
    return psutil.Process(json.loads((board.root / f"{link.id}.lock").read_text())["pid"])


def test_a_job_is_seen_at_once_the_next_waits_behind_it_and_both_end(board):
    first, second = board.start("first", SHORT), board.start("second", SHORT)
    views = [board.look(link.id) for link in (first, second)]
    assert [(view.state, view.place) for view in views] == [("starting", 0), ("queued", 1)]
    assert [view.name for view in board.list()] == ["second", "first"]
    wait_for(board, second, "done")
    assert verify_run(board.root / first.id).is_done
    assert [len(board.look(link.id).history) for link in (first, second)] == [2, 2]
    assert "epoch 2 of 2" in board.log(first.id)
    assert "done after 2 epochs" in board.log(first.id)


def test_a_job_that_is_stopped_keeps_its_best_and_goes_on_when_it_is_resumed(board):
    link = board.start("long", LONG)
    wait_for(board, link, "running")
    wait_until(lambda: board.look(link.id).progress, "a speed")
    assert os.getpriority(os.PRIO_PROCESS, trainer(board, link).pid) >= NICENESS
    if sys.platform == "linux":  # which ends it rather than the server, where memory runs out
        assert Path(f"/proc/{trainer(board, link).pid}/oom_score_adj").read_text().strip() == str(EXPENDABLE)
    wait_for_epochs(board, link, 1)
    board.stop(link)
    assert state(board, link) in ("stopping", "stopped")
    wait_for(board, link, "stopped")
    assert verify_run(board.root / link.id).environment["state"] == "stopped"
    before = board.look(link.id).history
    board.resume(link)
    wait_for_epochs(board, link, len(before) + 1)
    assert board.look(link.id).history[: len(before)].equals(before)
    with pytest.raises(ValueError, match="stop it first"):
        board.delete(link)
    board.stop(link)
    wait_for(board, link, "stopped")
    board.delete(link)
    assert not (board.root / link.id).exists()
    with pytest.raises(NoSuchJob):
        board.look(link.id)


def test_a_job_goes_on_by_itself_when_its_worker_is_killed(board):
    link = board.start("survivor", LONG)
    wait_for_epochs(board, link, 1)
    process, before = trainer(board, link), len(board.look(link.id).history)
    process.kill()
    process.wait(20)
    wait_for_epochs(board, link, before + 2)
    assert state(board, link) == "running"
    board.stop(link)
    wait_for(board, link, "stopped")


def test_one_that_waits_can_be_taken_back_and_one_that_cannot_train_says_why(board):
    ahead, waiting = board.start("ahead", LONG), board.start("waiting", LONG)
    board.stop(waiting)
    wait_for(board, waiting, "stopped")
    assert len(board.look(waiting.id).history) == 0
    board.stop(ahead)
    bad = board.start("bad", LONG.from_json(LONG.to_json().replace('"digits"', '"cifar10"')))
    wait_for(board, bad, "failed")
    message = board.look(bad.id).message
    assert message.startswith("there is no CIFAR-10 in ")
    assert "Traceback" not in message
    assert message in board.log(bad.id)
    assert JobBoard(board.root, data_root=Path()).look(bad.id).message == message


def test_another_scheduler_can_be_given_and_what_another_server_trains_is_seen(scheduler, tmp_path):
    other = JobBoard(tmp_path, data_root=Path("nowhere"), device="cpu", scheduler=scheduler)
    link = other.start("elsewhere", LONG)
    wait_for_epochs(other, link, 1)
    seen = JobBoard(tmp_path, data_root=Path()).look(link.id)
    assert (seen.state, seen.elsewhere) == ("running", True)
    other.close()
    wait_until(lambda: read_environment(tmp_path / link.id)["state"] == "stopped", "the end of the run")


def test_a_scheduler_that_is_not_there_is_the_reason_why_a_job_failed(tmp_path):
    away = JobBoard(tmp_path, data_root=Path("nowhere"), scheduler="tcp://127.0.0.1:1")
    with set_dask({"distributed.comm.timeouts.connect": "0.2s"}):
        link = away.start("away", SHORT)
        wait_for(away, link, "failed")
    assert "tcp://127.0.0.1:1" in away.look(link.id).message


def test_a_server_that_is_killed_leaves_no_process_and_a_job_that_can_go_on(scheduler, tmp_path):
    command = [sys.executable, str(Path(__file__).parents[1] / "job_server.py"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        link = Link.read(server.stdout.readline().strip())
        history = tmp_path / link.id / "history.csv"
        wait_until(lambda: history.exists() and len(read_history(tmp_path / link.id)) >= 2, "two epochs")
        family = psutil.Process(server.pid).children(recursive=True)
        assert len(family) >= 2
        server.send_signal(signal.SIGKILL)
    assert not psutil.wait_procs(family, timeout=20)[1]
    again = JobBoard(tmp_path, data_root=Path("nowhere"), device="cpu", scheduler=scheduler)
    view = again.look(link.id)
    assert (view.state, view.name) == ("interrupted", "killed")
    assert len(view.history) >= 2
    again.resume(link)
    wait_for_epochs(again, link, len(view.history) + 1)
    assert again.look(link.id).history[: len(view.history)].equals(view.history)
    again.close()


def test_only_who_holds_the_link_can_change_a_job_and_the_token_is_not_in_its_folder(idle):
    link, other = idle.start("mine", SHORT), idle.start("other", SHORT)
    for wrong in (Link(link.id), Link(link.id, other.token), Link(link.id, link.token[:-1])):
        assert not idle.owns(wrong)
        for act in (idle.stop, idle.resume, idle.delete, lambda at: idle.rename(at, "taken")):
            with pytest.raises(NotYours, match="only the owner of this training"):
                act(wrong)
    assert idle.owns(link)
    assert idle.look(link.id).name == "mine"
    assert all(link.token not in file.read_text() for file in (idle.root / link.id).iterdir())
    assert Link.read(str(link)) == link


@pytest.mark.parametrize(
    "text", ["", "..", "../../etc", "0" * 15, "0" * 16 + ".short", "A" * 16, "0" * 16 + "\n", "/" * 16]
)
def test_what_is_no_link_is_never_made_a_path(idle, text):
    idle.start("one", SHORT)
    assert Link.read(text) is None
    with pytest.raises(NoSuchJob):
        idle.look(text)


def test_a_name_is_one_line_that_can_be_printed_and_no_path(idle):
    link = idle.start("../../x\n\x1b[2J" + "y" * 200, SHORT)
    name = idle.look(link.id).name
    assert len(name) == 80
    assert name.isprintable()
    assert [folder.name for folder in idle.root.iterdir()] == [link.id]
    for unseen in ("  ", "\u3164\u115f", "\u0301\u0301"):
        idle.rename(link, unseen)
        assert idle.look(link.id).name == "no name"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (JOB, "{", "job.json is no JSON"),
        (JOB, '{"version": 9}', "job.json has version 9, and this program reads version 1"),
        (JOB, '{"version": 1, "name": 3}', "job.json.name must be text"),
        (JOB, '{"version": 1, "ended": "flying"}', "job.json.ended must be one of '', 'stopped', 'failed'"),
        (JOB, '{"version": 1, "created": NaN}', "job.json.created must lie in 0..1e+11"),
        (JOB, f'{{"version": 1, "created": 1{"0" * 400}}}', "job.json.created must be a number of at most 1.8e308"),
        (JOB, f'{{"version": 1{"0" * 5000}}}', "job.json is no JSON"),
        (JOB, '{"version": 1, "name": "' + "x" * 5_000_000 + '"}', "job.json must have at most 4,194,304 bytes"),
        (JOB, "[" * 100_000, "job.json is no JSON"),
        ("config.json", f'{{"version": 1, "epochs": 1{"0" * 400}}}', "epochs must be"),
        ("history.csv", HEADER + f"1{'0' * 30},1,1,1,1,1,1,1,1,1\n", "must have one row per epoch"),
        ("config.json", '{"version": 99}', "version 99"),
        ("environment.json", '{"version": 1, "state": "flying"}', "must say state"),
        ("history.csv", "a,b\n1,2\n", "is no table of epochs"),
    ],
)
def test_a_damaged_or_foreign_folder_is_listed_with_what_is_wrong(idle, file, content, message):
    link, sound = idle.start("bad", SHORT), idle.start("good", SHORT)
    (idle.root / link.id / file).write_text(content)
    (idle.root / "notes").mkdir()
    assert {view.id: view.state for view in idle.list()} == {link.id: "broken", sound.id: "interrupted"}
    assert message in idle.look(link.id).message
    assert len(idle.look(link.id).message) <= 1000


def test_a_record_of_megabytes_is_shown_in_short_and_a_token_of_any_letters_owns_nothing(idle):
    link = idle.start("long", SHORT)
    content = {"version": 1, "name": "n\n" * 10**6, "message": "m" * 10**6, "ended": "failed", "token_sha256": "ß"}
    (idle.root / link.id / JOB).write_text(json.dumps(content))
    view = idle.look(link.id)
    assert (len(view.name), len(view.message), view.state) == (79, 1000, "failed")
    assert not idle.owns(link)


@pytest.mark.parametrize("part", ["", JOB, "history.csv"])
def test_a_link_out_of_the_folder_of_runs_is_not_followed(idle, tmp_path_factory, part):
    link, away = idle.start("inside", SHORT), tmp_path_factory.mktemp("away")
    shutil.copytree(idle.root / link.id, away / "run")
    (away / "run" / "history.csv").write_text(HEADER)
    inside = idle.root / link.id / part
    shutil.rmtree(inside) if not part else inside.unlink(missing_ok=True)
    inside.symlink_to(away / "run" / part)
    assert idle.list() == []
    assert not idle.owns(link)
    for act in (idle.look, idle.log):
        with pytest.raises(NoSuchJob):
            act(link.id)
    assert not len(index_runs(idle.root))


def test_a_folder_that_is_deleted_or_may_not_be_read_hides_no_other_training(idle, monkeypatch):
    kept, lost = idle.start("kept", SHORT), idle.start("lost", SHORT)
    look_for_links = job_folder.links_out

    def links_out(place, root):
        if place.name == lost.id:
            raise PermissionError(13, "Permission denied", str(place))
        return look_for_links(place, root)

    monkeypatch.setattr(job_folder, "links_out", links_out)
    monkeypatch.setattr(index, "links_out", links_out)
    assert [view.id for view in idle.list()] == [kept.id]
    assert list(index_runs(idle.root)["run"]) == [kept.id]
    with pytest.raises(NoSuchJob):
        idle.look(lost.id)


def test_a_moment_without_threads_refuses_one_training_and_not_all_later_ones(tmp_path, monkeypatch):
    board, begun = JobBoard(tmp_path, data_root=Path("nowhere")), threading.Event()
    monkeypatch.setattr(Trainer, "_run", lambda _: begun.set())
    with monkeypatch.context() as moment:
        moment.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        with pytest.raises(OSError, match="no more threads at the moment"):
            board.start("refused", SHORT)
    assert board.list() == []
    board.start("taken", SHORT)
    assert begun.wait(20)
    assert [view.name for view in board.list()] == ["taken"]


def test_messages_and_logs_name_no_path_of_the_server(idle):
    link = idle.start("mine", SHORT)
    said = "there is no CIFAR-10 in /srv/data: see https://x.org/a or '/srv/my runs/a b.npz', 9 images/s"
    add_line(idle.root / link.id, said)
    assert idle.log(link.id).endswith("no CIFAR-10 in data: see https://x.org/a or 'a b.npz', 9 images/s\n")
    (idle.root / "file").write_text("no folder")
    nowhere = JobBoard(idle.root / "file" / "runs", data_root=Path())
    with pytest.raises(OSError, match="Not a directory") as problem:
        nowhere.start("lost", SHORT)
    assert str(idle.root) not in str(problem.value)


def test_a_thousand_jobs_are_listed_in_under_a_second(idle):
    first = idle.start("0", SHORT)
    for number in range(1, 1000):
        folder = idle.root / f"{number:016x}"
        folder.mkdir()
        for name in ("config.json", JOB):
            os.link(idle.root / first.id / name, folder / name)
    assert len(idle.list()) == 1000
    began = time.process_time()
    idle.list()
    assert time.process_time() - began < 1
