"""A run that is trained in processes that can be killed, and a look at its folder with the product's own readers."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import made_runs
import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file

from l2d_core.common.paths import PROGRAM
from l2d_core.data import Scores
from l2d_core.experiment import run_experiment
from l2d_core.models.weights import load_weights
from l2d_core.runs import cases
from l2d_core.runs.folder import (
    CHECKPOINT,
    CONFIG,
    ENVIRONMENT,
    HISTORY,
    TEST,
    VALIDATION,
    WEIGHTS,
    list_runs,
    read_config,
    read_environment,
    read_history,
    verify_run,
)
from l2d_core.runs.index import index_runs
from l2d_core.runs.lock import hold
from l2d_core.training.checkpoints import load_checkpoint

KILLS = int(os.environ.get("L2D_KILLS", "50"))
MADE = replace(made_runs.CONFIG, epochs=20, patience=None, optimizer="adamw", augment="crop_flip")
READERS = {
    CONFIG: lambda path: read_config(path.parent),
    ENVIRONMENT: lambda path: read_environment(path.parent),
    HISTORY: lambda path: read_history(path.parent),
    VALIDATION: Scores.load,
    TEST: Scores.load,
    WEIGHTS: load_weights,
    CHECKPOINT: load_checkpoint,
}


def assert_whole(folder):
    """Every file of a run's folder reads, or is not there; all that lists runs says nothing is wrong with it."""
    for name, read in READERS.items():
        if (folder / name).exists():
            read(folder / name)
    assert [entry.problem for entry in list_runs(folder.parent) if entry.folder == folder] in ([], [""])
    table = index_runs(folder.parent)
    assert set(table["problem"][table["run"] == folder.name]) <= {""}
    if (folder / CHECKPOINT).exists():
        behind = len(load_checkpoint(folder / CHECKPOINT).history) - epochs_done(folder)
        assert behind in (0, 1)  # the checkpoint comes first: an epoch is never shown that would be trained again


def epochs_done(folder):
    return len(read_history(folder)) if (folder / HISTORY).exists() else 0


def assert_as_calm(folder, calm):
    """The same bits as in a run that nothing disturbed, but for what the clock says; and no rubbish beside them."""
    run, other = verify_run(folder), verify_run(calm)
    assert run.is_done
    weights, calm_weights = (load_file(one / WEIGHTS) for one in (folder, calm))  # the files' headers are in any order
    assert weights.keys() == calm_weights.keys()
    assert all(torch.equal(weights[name], calm_weights[name]) for name in weights)
    for part in ("validation", "test"):
        np.testing.assert_array_equal(getattr(run, part).logits, getattr(other, part).logits)
        np.testing.assert_array_equal(getattr(run, part).answers, getattr(other, part).answers)
    clock = ["images_per_second", "seconds"]
    pd.testing.assert_frame_equal(run.history.drop(columns=clock), other.history.drop(columns=clock))
    assert not list(folder.rglob("*.part"))
    assert not list(folder.parent.glob("*.lock"))


def train(folder):
    """The run MADE, in its folder, as a worker trains it."""
    torch.set_num_threads(1)
    cases.DATASETS["made"] = made_runs.load_made
    with hold(folder):
        run_experiment(MADE, data_root="nowhere", device="cpu", folder=folder)


class Trainer:
    """Starts a process that trains MADE in a folder, as often as it is asked to, without importing all each time."""

    def __init__(self, server):
        self._server = server

    def start(self, folder):
        """The id of the new process."""
        return int(self._ask(folder))

    def end(self):
        """Wait for the process, which may have been killed; gives whether it came to its own end."""
        status = os.waitstatus_to_exitcode(int(self._ask("")))
        assert status in (0, -signal.SIGKILL)
        return status == 0

    def _ask(self, what):
        self._server.stdin.write(f"{what}\n")
        self._server.stdin.flush()
        return self._server.stdout.readline()


@contextmanager
def trainer():
    # PYTHONPATH: the library as it is here, whether or not it is installed.
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM)}
    with subprocess.Popen([sys.executable, __file__], env=environment, stdin=PIPE, stdout=PIPE, text=True) as server:
        yield Trainer(server)
        server.stdin.close()


def serve():
    """Train in a new process in the folder that a line names, say its id, and after the next line how it ended.

    Until then it is a zombie at most, so that its id is nobody else's while it may be killed.
    """
    import torch._dynamo  # noqa: F401 (the first optimiser would import it, for seconds, in each process)

    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            train(Path(line.strip()))
            os._exit(0)
        print(process, flush=True)
        sys.stdin.readline()
        print(os.waitpid(process, 0)[1], flush=True)


if __name__ == "__main__":
    serve()
