"""Killed at dozens of random moments, a run goes on each time, ends with the same bits, and is never half there.

L2D_KILLS says how often each of the loops kills, in place of 50.
"""

import json
import os
import random
import signal
import threading
import time
from dataclasses import replace

import psutil
import pytest
from dask.config import config as dask_config
from dask_processes import DIGITS, dask_cluster, wait_until
from killed_runs import KILLS, assert_as_calm, assert_whole, epochs_done, trainer

from l2d_core.experiment import run_experiment
from l2d_core.sweeps.cluster import run_many

LONG = replace(DIGITS, epochs=12)
END_SECONDS, RECONNECT_SECONDS = 60, 5
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def files_of(folder):
    """What changes whenever a file in the folder is begun, written or renamed."""
    return [(path.name, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))]


def wait_for_changes(folder, count, process):
    """Until files in the folder have changed so often, or the process has ended."""
    before = None
    while count and psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
        try:
            now = files_of(folder)
        except FileNotFoundError:  # it was renamed between two looks
            now = object()
        count -= now != before
        before = now
        time.sleep(0.0005)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork processes")
def test_a_training_that_is_killed_again_and_again_ends_with_the_same_bits(tmp_path):
    chance, rounds, killed, done = random.Random(0), 0, 0, []
    calm = tmp_path / "calm" / "run"
    with trainer() as processes:
        began = time.monotonic()
        processes.start(calm)
        assert processes.end()
        whole = time.monotonic() - began
        while killed < KILLS:
            folder = tmp_path / str(rounds) / "run"
            process = processes.start(folder)
            if killed % 2:  # else in the middle of what is being written
                time.sleep(chance.uniform(0, whole / 2))
            else:
                wait_for_changes(folder, chance.randrange(1, 60), process)
                time.sleep(chance.uniform(0, 0.002))
            os.kill(process, signal.SIGKILL)
            if processes.end():
                assert_as_calm(folder, calm)
                rounds += 1
                continue
            killed += 1
            assert_whole(folder)
            done.append(epochs_done(folder))
        processes.start(folder)
        assert processes.end()
    assert_as_calm(folder, calm)
    assert max(done) > 1  # or this test shows little


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The folder of LONG, trained without an interruption."""
    folder = tmp_path_factory.mktemp("calm") / "run"
    return run_experiment(LONG, data_root="nowhere", device="cpu", folder=folder).folder


class Sweep(threading.Thread):
    """The run LONG on a scheduler, in the folder out/run, begun again as often as it ends without being done."""

    def __init__(self, dask, out, times=1_000):
        super().__init__(daemon=True)
        self.dask, self.out, self.times, self.states = dask, out, times, []

    def run(self):
        options = {"data_root": "nowhere", "device": "cpu", "threads": 1}
        while self.times and "done" not in self.states:
            self.times -= 1
            table = run_many({"run": LONG}, out=self.out, scheduler=self.dask.address, **options)
            self.states += list(table["state"])


def trains(folder):
    """The process that trains in the folder, or None."""
    try:
        return json.loads(folder.with_name("run.lock").read_text())["pid"]
    except (OSError, ValueError):
        return None


def wait_for_training(dask, folder, sweep):
    dask.have_workers(1)
    (worker,) = dask.workers
    wait_until(lambda: trains(folder) == worker.pid or not sweep.is_alive(), "a training", seconds=120)
    return worker


def test_a_run_whose_workers_are_killed_again_and_again_ends_with_the_same_bits(tmp_path, calm):
    chance, rounds, killed = random.Random(1), 0, 0
    with dask_cluster(tmp_path) as dask:
        while killed < KILLS:
            out, rounds = tmp_path / f"out-{rounds}", rounds + 1
            sweep = Sweep(dask, out)
            sweep.start()
            while sweep.is_alive() and killed < KILLS:
                worker = wait_for_training(dask, out / "run", sweep)
                time.sleep(chance.uniform(0, 1.5))
                worker.kill()
                worker.wait()
                killed += 1
                assert_whole(out / "run")
            while sweep.is_alive():
                dask.have_workers(1)
                sweep.join(0.5)
            assert sweep.states[-1] == "done"
            assert set(sweep.states[:-1]) <= {"failed"}  # where three workers have died, the sweep is begun again
            assert_as_calm(out / "run", calm)


def test_a_run_whose_scheduler_is_killed_again_and_again_ends_with_the_same_bits(tmp_path, calm, monkeypatch):
    chance, rounds, killed = random.Random(2), 0, 0
    patience = f"{RECONNECT_SECONDS}s"  # 30 by default, which would make this test an hour long
    monkeypatch.setitem(dask_config["distributed"]["comm"]["timeouts"], "connect", patience)
    while killed < KILLS:
        out, rounds = tmp_path / f"out-{rounds}", rounds + 1
        states = []
        while "done" not in states:
            (home := tmp_path / f"dask-{killed}-{len(states)}").mkdir()
            with dask_cluster(home) as dask:
                sweep = Sweep(dask, out, times=1)
                sweep.start()
                worker = wait_for_training(dask, out / "run", sweep)
                if (
                    killed < KILLS and sweep.is_alive()
                ):  # else the run was done before, and the worker may be unknown yet
                    time.sleep(chance.uniform(0, 1.5))
                    dask.scheduler.kill()
                    killed += 1
                sweep.join(END_SECONDS)
                assert not sweep.is_alive(), "the sweep waits for a scheduler that is dead"
                if dask.scheduler.poll() is not None:
                    worker.wait(END_SECONDS)  # it ends by itself, its training too
                assert_whole(out / "run")
                states += sweep.states
        assert set(states) <= {"stopped", "queued", "done"}
        assert_as_calm(out / "run", calm)
