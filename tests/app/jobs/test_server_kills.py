"""The server of the pages is killed again and again in the middle of a training, which its link finds each time."""

import asyncio
import random
import time
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location

import psutil
import pytest
import torch
from killed_runs import KILLS, assert_as_calm, assert_whole, epochs_done
from small_jobs import SHORT, wait_until

from app.jobs.board import JobBoard
from app.jobs.folder import make_job
from l2d_core.common.paths import PROGRAM
from l2d_core.experiment import run_experiment
from l2d_core.runs.folder import read_environment
from l2d_core.sweeps.cluster import CPU_COUNT, plan_workers

EPOCHS_A_LIFE, EPOCH_SECONDS = 4, 0.5
CONFIG = replace(SHORT, epochs=2 * EPOCHS_A_LIFE * KILLS)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def load(path):
    """A module of the tests or benchmarks, whose folder is not on the path."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Session = load(PROGRAM / "benchmarks" / "session.py").Session
TrainServer = load(PROGRAM / "tests" / "browser" / "train_server.py").TrainServer


def calm_run(folder):
    """CONFIG, trained without an interruption, with as many threads as the server's workers have."""
    threads = torch.get_num_threads()
    torch.set_num_threads(plan_workers("cpu", CPU_COUNT)[1])
    try:
        return run_experiment(CONFIG, data_root="nowhere", device="cpu", folder=folder).folder
    finally:
        torch.set_num_threads(threads)


async def resume(address, link):
    """Open the page at the job's link and press "Resume"; gives what was written there before."""
    session = await Session.open(address, "train", f"job={link}")
    page = await session.run()
    told = await session.press(page, "Resume")
    assert not page.errors + told.errors
    await session.close()
    return "\n".join(page.texts)


def has_ended(folder):
    return read_environment(folder)["state"] == "done"


def test_a_server_that_is_killed_again_and_again_finds_its_job_and_ends_it_with_the_same_bits(tmp_path):
    chance, calm, server = random.Random(0), calm_run(tmp_path / "calm" / "run"), TrainServer(tmp_path)
    link, found = make_job(tmp_path / "runs", "killed", CONFIG), []
    folder = tmp_path / "runs" / link.id
    for _ in range(KILLS):
        server.start()
        found.append(asyncio.run(resume(server.address, link)))
        wanted = epochs_done(folder) + chance.randrange(EPOCHS_A_LIFE)
        wait_until(lambda: epochs_done(folder) >= wanted, f"{wanted} epochs")  # noqa: B023
        time.sleep(chance.uniform(0, EPOCH_SECONDS))
        assert not server.kill(), "a process outlives its server"
        assert_whole(folder)
    assert not has_ended(folder)  # or some of the kills show little
    server.start()
    found.append(asyncio.run(resume(server.address, link)))
    wait_until(lambda: has_ended(folder) and not list(folder.parent.glob("*.lock")), "the end of the run")
    assert not server.kill()
    assert_as_calm(folder, calm)
    assert ["interrupted" in text for text in found] == [True] * len(found)
    assert "Traceback" not in server.log.read_text()


def test_a_training_whose_cluster_is_killed_again_and_again_goes_on_by_itself_and_ends_with_the_same_bits(tmp_path):
    chance, calm = random.Random(1), calm_run(tmp_path / "calm" / "run")
    board = JobBoard(tmp_path / "runs", data_root=tmp_path, device="cpu")
    link = board.start("killed", CONFIG)
    folder = tmp_path / "runs" / link.id
    for _ in range(KILLS):
        wanted = epochs_done(folder) + 1 + chance.randrange(EPOCHS_A_LIFE)
        wait_until(lambda: epochs_done(folder) >= wanted, f"{wanted} epochs")  # noqa: B023
        time.sleep(chance.uniform(0, EPOCH_SECONDS))
        host = psutil.Process(board._trainer._process._process.pid)
        family = host.children(recursive=True)
        host.kill()
        assert not psutil.wait_procs(family, timeout=20)[1], "a process outlives its cluster"
        assert_whole(folder)
        wait_until(lambda: board.look(link.id).state == "starting", "the page to notice it")
    wait_until(lambda: board.look(link.id).state == "done", "the end of the run")
    board.close()
    assert_as_calm(folder, calm)
