"""What a worker of a cluster does: it trains one run to its end, alone in the run's folder, unless it is cancelled."""

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from distributed import Worker, get_worker

from l2d_core.config import RunConfig
from l2d_core.experiment import NothingTrained, run_experiment
from l2d_core.runs.lock import FolderTaken, hold
from l2d_core.runs.log import add_line, keep_log
from l2d_core.sweeps.results import Outcome

LOOK_SECONDS = 0.5

# The states of a task, in Dask's words, in which it runs and its result is waited for.
WANTED = ("executing", "long-running")

_one_training = threading.Lock()  # torch's random state is the process's


def keys_in_hand(dask_worker: Worker) -> set[str]:
    """The tasks that a worker has begun and not ended, including those that were cancelled."""
    return {str(key) for key, task in dask_worker.state.tasks.items() if task.state in (*WANTED, "cancelled")}


def reason(problem: BaseException) -> str:
    """What went wrong, in one line; with the kind of error where it is not one that the program foresees."""
    kind = "" if isinstance(problem, ValueError | OSError | NothingTrained) else f"{type(problem).__name__}: "
    return kind + " ".join(str(problem).split())


def first_cause(problem: BaseException) -> str:
    """What went wrong at the bottom of an exception that others were raised from, in one line."""
    while cause := problem.__cause__ or problem.__context__:
        problem = cause
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else reason(problem)


def train_run(settings: str, folder: str, data_root: str, device: str, threads: int | None, topic: str) -> Outcome:
    """Train a run, its settings as JSON, on a Dask worker. A failure is an outcome: an error would be tried again.

    threads: of torch; None leaves them. topic: of the event with which the scheduler learns that the run has begun.
    """
    key = str(get_worker().get_current_task())
    try:
        with _one_training:
            if threads is not None:
                torch.set_num_threads(threads)
            return _train(RunConfig.from_json(settings), Path(folder), data_root, device, key, topic)
    except FolderTaken:  # by another, and nobody wants it from this worker any more
        return Outcome("stopped")
    except Exception as problem:
        if not isinstance(problem, ValueError | OSError | NothingTrained):
            traceback.print_exc()
        add_line(folder, reason(problem))
        return Outcome("failed", reason(problem))


def _train(config: RunConfig, folder: Path, data_root: str, device: str, key: str, topic: str) -> Outcome:
    while True:
        with hold(folder, may_wait=lambda: _is_wanted(key)) as is_ours:
            get_worker().log_event(topic, key)
            add_line(folder, f"training starts, with {torch.get_num_threads()} threads on a CPU")
            note, on_epoch = keep_log(folder, config)
            on_step, options = _watch(key, is_ours, note), {"data_root": data_root, "device": device}
            try:
                run = run_experiment(config, **options, folder=folder, on_epoch=on_epoch, on_step=on_step)
            except FolderTaken:
                continue  # wait until it is free
            state = "done" if run.is_done else "stopped"
            add_line(folder, f"{state} after {len(run.history)} epochs")
            return Outcome(state)


def _watch(key: str, is_ours: Callable[[], bool], note: Callable[[int, int], None]) -> Callable[[int, int], bool]:
    """on_step for `train`: stops where nobody wants the run any more, and at once where another has its folder.

    note: called with each step that counts.
    """
    looked = time.monotonic()

    def on_step(done: int, total: int) -> bool:
        nonlocal looked
        if not is_ours():
            raise FolderTaken
        note(done, total)
        if time.monotonic() - looked < LOOK_SECONDS:
            return True
        looked = time.monotonic()
        return _is_wanted(key)

    return on_step


def _is_wanted(key: str) -> bool:
    """Whether the scheduler still waits for this task: not where it was cancelled, or its client is gone."""
    task = get_worker().state.tasks.get(key)
    return task is not None and task.state in WANTED
