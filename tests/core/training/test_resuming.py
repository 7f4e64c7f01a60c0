"""A training that was stopped or killed goes on to the same bits as one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import pytest
import tiny_training
from tiny_training import CONFIG, LONG, run, same_bits, stop_after, tiny_model, without_times

from l2d_core.training.checkpoints import load_checkpoint

NOISY = replace(CONFIG, redraw_answers=True, optimizer="adamw", learning_rate=0.02)


def written_at(path):
    return path.stat().st_mtime_ns if path.exists() else None


def wait_for_change(path, before, seconds=60):
    deadline = time.monotonic() + seconds
    while written_at(path) == before:
        assert time.monotonic() < deadline, "no checkpoint was written"
        time.sleep(0.001)


def kill_trainings(path, moments):
    """Train in processes of their own; kill each so many seconds after it has written its first checkpoint."""
    # PYTHONPATH: the library as it is here, whether or not it is installed.
    environment = {**os.environ, "PYTHONPATH": str(Path(tiny_training.__file__).parents[2])}
    command = [sys.executable, tiny_training.__file__, str(path)]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as server:
        for moment in moments:
            before = written_at(path)
            server.stdin.write("\n")
            server.stdin.flush()
            process = int(server.stdout.readline())
            wait_for_change(path, before)
            time.sleep(moment)
            os.kill(process, signal.SIGKILL)
            assert int(server.stdout.readline()) == signal.SIGKILL


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork processes")
def test_a_training_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    path, chance = tmp_path / "checkpoint" / "last.pt", random.Random(0)
    kill_trainings(path, [chance.uniform(0, 0.05) for _ in range(4)])
    finished = len(load_checkpoint(path).history)
    assert 4 <= finished < LONG.epochs  # or this test shows little
    seen = []
    killed, history = run(
        LONG, model=tiny_model(dropout=0.3), checkpoint=path, on_epoch=lambda report: seen.append(report.epoch)
    )
    calm, calm_history = run(LONG, model=tiny_model(dropout=0.3))
    assert seen == list(range(finished + 1, LONG.epochs + 1))
    assert same_bits(killed, calm)
    assert without_times(history) == without_times(calm_history)


@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_stopping_after_any_epoch_and_going_on_gives_the_same_bits(tmp_path, first, optimizer):
    config = replace(NOISY, optimizer=optimizer)
    run(config, model=tiny_model(dropout=0.3), checkpoint=tmp_path / "last.pt", on_epoch=stop_after(first))
    model, history = run(config, model=tiny_model(seed=5, dropout=0.3), checkpoint=tmp_path / "last.pt")
    whole, whole_history = run(config, model=tiny_model(dropout=0.3))
    assert same_bits(model, whole)
    assert without_times(history) == without_times(whole_history)


def test_a_stop_within_an_epoch_costs_that_epoch_alone(tmp_path):
    run(NOISY, checkpoint=tmp_path / "last.pt", on_step=lambda done, total: done < 7)
    model, history = run(NOISY, checkpoint=tmp_path / "last.pt")
    assert len(history) == 4
    assert same_bits(model, run(NOISY)[0])


def test_the_best_weights_survive_though_later_epochs_were_worse(tmp_path):
    config = replace(CONFIG, learning_rate=2.0, schedule="constant", epochs=5)
    whole, history = run(config)
    best = min(history, key=lambda report: report.validation_loss).epoch
    assert best < 4  # or this test shows nothing
    run(config, checkpoint=tmp_path / "last.pt", on_epoch=stop_after(4))
    assert same_bits(run(config, checkpoint=tmp_path / "last.pt")[0], whole)


def must_not_step(_done, _total):
    raise AssertionError("a step was taken")


def test_a_finished_training_is_not_trained_further(tmp_path):
    for config in (CONFIG, replace(CONFIG, epochs=40, patience=1, learning_rate=3.0, schedule="constant")):
        path = tmp_path / f"{config.epochs}.pt"
        model, history = run(config, checkpoint=path)
        again, again_history = run(config, model=tiny_model(seed=3), checkpoint=path, on_step=must_not_step)
        assert again_history == history
        assert same_bits(again, model)
