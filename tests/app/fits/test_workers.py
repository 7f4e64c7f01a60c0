"""Processes that run the live lab's experiments: jobs, progress, dropped jobs, and workers that die."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from app.fits import experiment
from app.fits import workers as lab_workers
from app.fits.settings import Binning, LabSettings
from app.fits.workers import WorkerLost, Workers
from l2d_core.datasets import LAB_DATASETS

PATIENCE_SECONDS = 60


@pytest.fixture(scope="module", autouse=True)
def _jobs_on_the_workers_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        yield


@pytest.fixture(scope="module")
def two():
    workers = Workers("lab_worker_jobs:work", 2)
    yield workers
    workers.close()


@pytest.fixture
def callers():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def go_on(_share):
    return True


def test_a_worker_is_another_process_and_the_same_one_for_the_next_job(two):
    first, second = (two.run("pid", on_progress=go_on) for _ in range(2))
    assert first == second != os.getpid()


def test_fits_give_way_to_pages(two):
    assert two.run("niceness", on_progress=go_on) > os.nice(0)


def test_progress_reaches_the_caller_in_order(two):
    seen = []
    assert two.run("count", on_progress=seen.append) == [True] * 4
    assert seen == [0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        ("bad settings", ValueError, "noise must be at most 1, got 2"),
        ("no data", FileNotFoundError, "there is no file features.npz"),
        ("fault", RuntimeError, "ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_job_raises_is_raised_and_the_worker_lives_on(two, job, error, message):
    worker = two.run("pid", on_progress=go_on)
    with pytest.raises(error, match=message):
        two.run(job, on_progress=go_on)
    assert two.run("pid", on_progress=go_on) == worker


def test_a_job_that_nobody_wants_is_dropped_and_its_worker_takes_the_next(two):
    worker = two.run("pid", on_progress=go_on)
    with pytest.raises(TimeoutError, match="nobody waits"):
        two.run("until dropped", on_progress=lambda _share: False)
    assert two.run("pid", on_progress=go_on) == worker


def test_a_request_to_drop_that_comes_too_late_does_not_touch_the_next_job(two):
    assert two.run("count", on_progress=lambda share: share < 0.75) is not None
    assert two.run("count", on_progress=go_on) == [True] * 4


def test_two_jobs_run_at_once_and_a_third_waits_for_its_turn_or_leaves(two, callers):
    running, leave = threading.Barrier(3), threading.Event()

    def hold(_share):
        if not leave.is_set():
            running.wait(PATIENCE_SECONDS)
            leave.wait(PATIENCE_SECONDS)
        return False

    held = [callers.submit(two.run, "until dropped", on_progress=hold) for _ in range(2)]
    running.wait(PATIENCE_SECONDS)
    with pytest.raises(TimeoutError, match="nobody waits"):
        two.run("pid", on_progress=lambda share: share > 0)
    third = callers.submit(two.run, "pid", on_progress=go_on)
    leave.set()
    assert isinstance(third.result(PATIENCE_SECONDS), int)
    for job in held:
        with pytest.raises(TimeoutError):
            job.result(PATIENCE_SECONDS)


def test_a_worker_that_dies_in_a_job_is_told_and_replaced(two):
    with pytest.raises(WorkerLost, match="Move a slider to try again"):
        two.run("die", on_progress=go_on)
    assert isinstance(two.run("pid", on_progress=go_on), int)


def test_a_worker_that_died_between_jobs_is_replaced_without_a_word(two):
    lost = two.run("pid", on_progress=go_on)
    os.kill(lost, signal.SIGKILL)
    os.waitid(os.P_PID, lost, os.WEXITED | os.WNOWAIT)
    assert two.run("pid", on_progress=go_on) != lost


def test_what_on_progress_raises_ends_the_job_and_its_worker(two):
    def leave(_share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two.run("until dropped", on_progress=leave)
    assert isinstance(two.run("pid", on_progress=go_on), int)


def test_workers_started_aside_are_taken_when_they_are_ready():
    workers = Workers("lab_worker_jobs:work", 2)
    workers.start(1)
    workers.start()
    workers.start()
    both = set()
    while len(both) < 2:  # the one that is free takes the next job: the second is seen while the first is held
        with ThreadPoolExecutor(2) as pool:
            both |= {job.result(PATIENCE_SECONDS) for job in [pool.submit(hold_then_pid, workers) for _ in range(2)]}
    assert os.getpid() not in both
    workers.close()


def test_jobs_that_come_while_one_is_being_started_wait_for_it_and_start_one_only_for_the_rest(monkeypatch, callers):
    made = []

    class Counted(lab_workers._Worker):
        def __init__(self, call):
            made.append(call)
            super().__init__(call)

    monkeypatch.setattr(lab_workers, "_Worker", Counted)
    workers = Workers("lab_worker_jobs:work", 3)
    workers.start(1)
    assert isinstance(workers.run("pid", on_progress=go_on), int)
    assert len(made) == 1
    workers.start(1)
    leave = threading.Event()
    held = [callers.submit(workers.run, "until dropped", on_progress=lambda _share: not leave.is_set()) for _ in "abc"]
    end = time.monotonic() + PATIENCE_SECONDS
    while len(made) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    leave.set()
    assert [type(job.exception(PATIENCE_SECONDS)) for job in held] == [TimeoutError] * 3
    assert len(made) == 3
    workers.close()


@pytest.mark.parametrize("problem", [OSError(11, "no more processes"), lab_workers.WorkerLost(), ValueError("a fault")])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_place_comes_back_whatever_kept_its_worker_from_starting(monkeypatch, problem):
    workers, real = Workers("lab_worker_jobs:work", 2), lab_workers._Worker

    def cannot(_call):
        raise problem

    monkeypatch.setattr(lab_workers, "_Worker", cannot)
    workers.start()
    with pytest.raises(type(problem)):
        workers.run("pid", on_progress=go_on)
    monkeypatch.setattr(lab_workers, "_Worker", real)
    with ThreadPoolExecutor(2) as pool:
        assert all(job.result(PATIENCE_SECONDS) for job in [pool.submit(hold_then_pid, workers) for _ in range(2)])
    workers.close()


def test_a_place_comes_back_where_there_are_no_more_threads(monkeypatch):
    workers = Workers("lab_worker_jobs:work", 1)

    def cannot(_thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cannot)
        workers.start()
    assert isinstance(workers.run("pid", on_progress=go_on), int)
    workers.close()


def test_a_worker_that_never_gets_ready_is_lost(monkeypatch):
    monkeypatch.setattr(lab_workers, "START_SECONDS", 0)
    with pytest.raises(WorkerLost):
        Workers("lab_worker_jobs:work", 1).run("pid", on_progress=go_on)


def hold_then_pid(workers):
    return workers.run("pid", on_progress=go_on)


def test_a_worker_that_cannot_start_is_told_to_each_who_asks(capfd):
    workers = Workers("lab_worker_jobs:nothing_of_that_name", 1)
    workers.start()
    for _ in range(2):
        with pytest.raises(WorkerLost):
            workers.run("pid", on_progress=go_on)
    assert "nothing_of_that_name" in capfd.readouterr().err
    workers.close()


def test_workers_end_when_their_pipe_is_closed():
    workers = Workers("lab_worker_jobs:work", 1)
    process = workers.run("pid", on_progress=go_on)
    workers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_an_experiment_is_the_same_in_a_worker_as_in_this_process():
    dataset = LAB_DATASETS["gaussians"]
    accuracy = (0.75,) * len(dataset.class_names)
    settings = LabSettings("gaussians", accuracy, "others", 1.0, False, 300, dataset.head, 1.0, 2, 0, True)
    workers = Workers("app.fits.experiment:run", 1)
    there = workers.run(settings, Binning(10, "equal_mass"), on_progress=go_on)
    workers.close()
    here = experiment.run(settings, Binning(10, "equal_mass"), on_progress=go_on)
    for name, scores in here.scores.items():
        for one, other in zip(scores, there.scores[name], strict=True):
            assert np.array_equal(one.logits, other.logits)
            assert np.array_equal(one.answers, other.answers)
    assert there.tables.binning == Binning(10, "equal_mass")
    assert there.tables.summary.equals(here.tables.summary)
    assert np.array_equal(there.plane.bayes_defers, here.plane.bayes_defers)
