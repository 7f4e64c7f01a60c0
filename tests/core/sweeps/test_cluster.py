"""Many runs on Dask: workers that die, bad settings, interrupts and rivals leave all results, to the last bit."""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from signal import SIGINT, SIGTERM
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from dask.config import set as set_dask
from dask_processes import DIGITS, dask_cluster, process, wait_until
from distributed import Client, Future, KilledWorker
from made_runs import CONFIG as MADE
from made_runs import write_run

from l2d_core.experiment import run_experiment
from l2d_core.runs.folder import HISTORY, open_run, read_environment, read_history, verify_run
from l2d_core.sweeps import cluster, machine
from l2d_core.sweeps.cluster import (
    SubmittedRun,
    credentials_of,
    open_cluster,
    outcomes_of,
    plan_workers,
    run_many,
    stop,
    submit,
)

LONG = replace(DIGITS, epochs=8)


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    with dask_cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


def run(configs, out, dask, workers=2, **options):
    dask.have_workers(workers)
    options = {"data_root": "nowhere", "device": "cpu", "threads": 1, **options}
    return run_many(configs, out=out, scheduler=dask.address, **options)


def epochs_done(folder):
    return len(read_history(folder)) if (folder / HISTORY).exists() else 0


def assert_same_scores(folder, other):
    one, two = open_run(folder), open_run(other)
    for part in ("validation", "test"):
        np.testing.assert_array_equal(getattr(one, part).logits, getattr(two, part).logits)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The folder of LONG, trained without an interruption."""
    folder = tmp_path_factory.mktemp("calm") / "run"
    return run_experiment(LONG, data_root="nowhere", device="cpu", folder=folder).folder


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_the_epoch_in_hand_and_no_result(tmp_path, dask, calm):
    configs = {"a": LONG, "b": replace(DIGITS, seed=1), "c": replace(DIGITS, surrogate="softmax")}
    killed = []

    def kill(name, outcomes):
        folder = tmp_path / "a"
        if name == "a" and outcomes["a"].state == "running" and not killed:
            wait_until(lambda: epochs_done(folder) >= 2, "two epochs")
            os.kill(json.loads((tmp_path / "a.lock").read_text())["pid"], signal.SIGKILL)
            killed.append(read_history(folder))

    table = run(configs, tmp_path, dask, on_change=kill)
    assert sum(worker.poll() == -signal.SIGKILL for worker in dask.workers) == 1
    assert 2 <= len(killed[0]) < LONG.epochs  # or this test shows little
    assert list(table["state"]) == ["done"] * 3
    again = read_history(tmp_path / "a")
    pd.testing.assert_frame_equal(again[: len(killed[0])], killed[0])  # their seconds too: not trained again
    assert_same_scores(tmp_path / "a", calm)
    assert not list(tmp_path.glob("*.lock"))


def test_a_bad_run_has_its_message_in_the_table_and_the_others_go_on(tmp_path, dask):
    configs = {
        "good": DIGITS,
        "no-such": replace(DIGITS, surrogate="hinge"),
        "no-data": replace(DIGITS, dataset="cifar10"),
        "../away": DIGITS,
        "..": DIGITS,
    }
    write_run(tmp_path / "other", MADE)
    configs["other"] = replace(MADE, seed=9)
    table = run(configs, tmp_path, dask, workers=1, problems={"bad": "epochs must be at least 1, got 0"})
    rows = table.set_index("run")
    assert rows["state"].to_dict() == {**dict.fromkeys(["bad", *configs], "failed"), "good": "done"}
    for name, message in {
        "bad": "epochs must be at least 1, got 0",
        "no-such": "surrogate must be one of 'softmax', ",
        "no-data": "there is no CIFAR-10 in ",
        "../away": "a name must be that of a folder, without a path, got '../away'",
        "..": "a name must be that of a folder",
        "other": "holds a run with other settings: seed (0 there, 9 now)",
    }.items():
        assert message in rows["message"][name]
    assert not (tmp_path / "no-such").exists()
    stored = pd.read_csv(tmp_path / "results.csv").set_index("run")
    assert stored["ece_sigmoid"]["good"] == pytest.approx(rows["ece_sigmoid"]["good"])
    assert rows["test_cases"]["good"] == len(open_run(tmp_path / "good").test)


def test_two_sweeps_on_one_folder_train_each_run_once(tmp_path, dask):
    configs = {"a": replace(DIGITS, epochs=4), "b": replace(DIGITS, epochs=4, seed=1)}
    tables, begun = [], threading.Barrier(2)
    dask.have_workers(2)

    def sweep():
        begun.wait()
        tables.append(run_many(configs, data_root="", out=tmp_path, device="cpu", scheduler=dask.address, threads=1))

    threads = [threading.Thread(target=sweep) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = tables
    assert list(first["state"]) == ["done", "done"]
    pd.testing.assert_frame_equal(first, second)
    assert all(verify_run(tmp_path / name).is_done for name in configs)
    pd.testing.assert_series_equal(pd.read_csv(tmp_path / "results.csv")["wall_seconds"], first["wall_seconds"])


def test_jobs_are_handed_over_watched_and_taken_back_one_by_one(tmp_path, dask):
    dask.have_workers(1)
    with open_cluster(dask.address) as client:
        jobs = [submit(client, replace(LONG, epochs=500, seed=seed), tmp_path / str(seed), "") for seed in range(3)]
        # Of three jobs on two workers at most, one waits.
        wait_until(lambda: any(epochs_done(job.folder) for job in jobs), "an epoch")
        states = [outcome.state for outcome in outcomes_of(client, jobs)]
        assert sorted(set(states)) == ["queued", "running"]
        stop(client, jobs)
        assert {outcome.state for outcome in outcomes_of(client, jobs)} == {"stopped"}
        trained = [job.folder for job, state in zip(jobs, states, strict=True) if epochs_done(job.folder)]
        assert all(verify_run(folder).environment["state"] == "stopped" for folder in trained)
        assert not list(tmp_path.glob("*.lock"))


def test_a_run_whose_client_is_gone_is_stopped_with_its_best_so_far(tmp_path, dask):
    dask.have_workers(1)
    client = Client(dask.address, set_as_default=False)
    job = submit(client, replace(LONG, epochs=500), tmp_path / "run", "", threads=1)
    wait_until(lambda: epochs_done(job.folder), "an epoch")
    client.close()
    wait_until(lambda: read_environment(job.folder)["state"] == "stopped", "the end of the run")
    assert not verify_run(job.folder).is_done


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "word"), [(SIGINT, 130, "interrupted"), (SIGTERM, 143, "terminated")])
def test_a_signal_leaves_runs_that_the_same_command_goes_on_with(tmp_path, dask, calm, number, code, word):
    settings = {"base": json.loads(LONG.to_json()), "grid": {"seed": [0, 1, 2, 3]}}
    (tmp_path / "sweep.json").write_text(json.dumps(settings))
    out = tmp_path / "out"
    options = ["--out", out, "--device", "cpu", "--workers", "1", "--threads", "1", "--data-root", "nowhere"]
    command = ["-m", "l2d_core", "sweep", tmp_path / "sweep.json", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    with process(*command, **pipes) as sweep:
        first = out / "one_vs_all-seed=0"
        wait_until(lambda: first.exists() and epochs_done(first), "an epoch")
        family = [psutil.Process(sweep.pid), *psutil.Process(sweep.pid).children(recursive=True)]
        listening = [at for one in family for at in one.net_connections(kind="inet") if at.status == "LISTEN"]
        os.killpg(sweep.pid, number)  # as a terminal and SLURM do: the workers get it as well
        told, errors = sweep.communicate(timeout=60)
    assert (sweep.returncode, errors) == (code, f"{word}\n")
    assert "holds what is done; the same command resumes the rest" in told
    assert listening
    assert {at.laddr.ip for at in listening} == {"127.0.0.1"}
    assert not psutil.wait_procs(family, timeout=20)[1]
    assert verify_run(first).environment["state"] == "stopped"
    states = pd.read_csv(out / "results.csv")["state"]
    assert list(states) == ["stopped", "queued", "queued", "queued"]
    run({first.name: LONG}, out, dask, workers=1)
    assert_same_scores(first, calm)


STRANGER = """
import os, ssl, sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from distributed import Client
from distributed.security import Security

class Trusting(Security):  # it has no certificate, and asks for none
    def get_connection_args(self, role):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return {"ssl_context": context, "require_encryption": True}

def knock(address, security):
    try:
        with Client(address, security=security, timeout=5, set_as_default=False) as client:
            return "ran as", client.run(os.getuid), client.run_on_scheduler(os.getuid)
    except Exception as problem:
        return type(problem).__name__

if os.getuid() == 0:
    os.setuid(65534)
addresses = [at.replace("tls:", kind) for at in sys.argv[1:] for kind in ("tls:", "tcp:")]
ways = (None, Trusting(), Security.temporary())
with ThreadPoolExecutor(len(addresses) * len(ways)) as at_once:
    print(*at_once.map(knock, *zip(*product(addresses, ways))), "tried", sep="\\n")
"""


def test_another_account_can_run_nothing_on_the_embedded_cluster():
    with open_cluster(workers=1, device="cpu") as client:
        about = client.scheduler_info()
        addresses = [about["address"], *about["workers"], *(one["nanny"] for one in about["workers"].values())]
        assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
        command = [sys.executable, "-c", STRANGER, *addresses]
        told = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert "tried" in told.stdout, told.stderr
        assert "ran as" not in told.stdout
        with open_cluster(about["address"], credentials=credentials_of(client)) as other:
            assert list(other.run(os.getuid).values()) == [os.getuid()]


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))


def no_shared_memory():
    """A file system for semaphores that cannot be written, for the process that calls this and its children alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x00020000) == 0  # a namespace of its own for mounts
    assert libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0  # whose changes stay there
    assert libc.mount(b"none", b"/dev/shm", b"tmpfs", 1, None) == 0  # read only


@pytest.mark.parametrize(
    ("without", "reason"),
    [
        (few_files, "Too many open files"),
        pytest.param(
            no_shared_memory, "Read-only file system", marks=pytest.mark.skipif(os.getuid() != 0, reason="mounts")
        ),
    ],
)
@pytest.mark.slow
def test_a_machine_without_what_worker_processes_need_ends_a_sweep_in_one_line(tmp_path, without, reason):
    settings = {"base": json.loads(DIGITS.to_json()), "grid": {"seed": [0, 1]}}
    (tmp_path / "sweep.json").write_text(json.dumps(settings))
    command = ["-m", "l2d_core", "sweep", tmp_path / "sweep.json", "--out", tmp_path / "out", "--workers", "2"]
    with process(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=without) as sweep:
        _, errors = sweep.communicate(timeout=250)
    assert sweep.returncode not in (0, -9)
    assert errors.splitlines()[-1].endswith(f"the worker processes could not be started: {reason}")
    assert len(errors.splitlines()) == 1


def test_what_is_done_needs_no_cluster(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "open_cluster", lambda *_, **__: pytest.fail("nothing is left to train"))
    configs = {"a": MADE, "b": replace(MADE, seed=1)}
    for name, config in configs.items():
        write_run(tmp_path / name, config)
    table = run_many(configs, data_root="", out=tmp_path)
    assert list(table["state"]) == ["done", "done"]
    assert list(table["seed"]) == [0, 1]
    assert list(table["wall_seconds"]) == [7.5, 7.5]


def test_a_run_that_takes_its_workers_with_it_is_a_failure_with_a_reason(tmp_path):
    problem = KilledWorker("run", SimpleNamespace(address="tcp://w:1"), 3)
    future = Mock(Future, status="error", exception=lambda: problem)
    outcome = cluster._outcome(SubmittedRun(tmp_path, DIGITS, future), True)
    assert outcome.state == "failed"
    assert outcome.message.startswith("KilledWorker: ")


@pytest.mark.parametrize(
    ("cores", "gigabytes", "runs", "given", "planned"),
    [
        (8, 64, 20, (None, None), (8, 1)),
        (8, 64, 2, (None, None), (2, 4)),
        (8, 11, 20, (None, None), (4, 2)),
        (8, 1, 20, (None, None), (1, 8)),
        (2, 64, 20, (5, None), (5, 1)),
        (8, 64, 20, (2, 3), (2, 3)),
    ],
)
def test_workers_and_threads_together_are_no_more_than_the_cores(monkeypatch, cores, gigabytes, runs, given, planned):
    monkeypatch.setattr(machine, "CPU_COUNT", cores)
    monkeypatch.setattr(machine, "MEMORY_LIMIT", gigabytes << 30)
    assert plan_workers("cpu", runs, *given) == planned


def test_each_worker_gets_a_gpu_in_turn(monkeypatch):
    monkeypatch.setattr(machine, "pick_device", lambda name: torch.device("cuda" if name == "auto" else name))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(machine, "CPU_COUNT", 8)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert plan_workers("auto", 20) == (2, 4)
    gpus = machine.visible_gpus("auto")
    environments = [cluster._worker(place, {}, gpus)["options"]["env"] for place in range(3)]
    assert environments == [{"CUDA_VISIBLE_DEVICES": number} for number in "010"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert machine.visible_gpus("cuda") == ["5", "7"]
    assert machine.visible_gpus("cuda:1") == machine.visible_gpus("cpu") == []
    assert plan_workers("cuda:1", 20) == (1, 8)


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers": 0},
        {"threads": -1},
        {"device": "tpu"},
        {"device": "tpu", "workers": 1},
        {"threads": 10**5},
        {"workers": 10**6},
        {"threads": 10**5, "scheduler": "tcp://127.0.0.1:9"},
    ],
)
def test_what_an_embedded_cluster_cannot_be_is_named(tmp_path, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be "):
        run_many({"a": DIGITS}, data_root="", out=tmp_path, **wrong)


def test_a_folder_that_cannot_be_written_is_said_before_processes_are_started(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "open_cluster", Mock(side_effect=AssertionError))
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="file"):
        run_many({"a": DIGITS}, data_root="", out=tmp_path / "file", device="cpu")


def test_no_more_workers_are_started_than_there_are_runs(tmp_path, monkeypatch):
    opened = Mock(side_effect=InterruptedError)
    monkeypatch.setattr(cluster, "open_cluster", opened)
    with pytest.raises(InterruptedError):
        run_many({"a": DIGITS}, data_root="", out=tmp_path, device="cpu", workers=1_000)
    assert opened.call_args.kwargs["workers"] == 1


def test_a_scheduler_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with set_dask({"distributed.comm.timeouts.connect": "0.2s"}), pytest.raises(OSError, match="tcp"):
        run_many({"a": DIGITS}, data_root="", out=tmp_path, scheduler="tcp://127.0.0.1:1")
