"""The thread that trains the jobs of a queue on a cluster, which it opens with the first one and closes when idle."""

import logging
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.jobs.cluster_process import ClusterProcess
from app.jobs.queue import ENDED, HANDED_OVER, IN_HAND, WAITING, Entry, JobQueue
from app.jobs.states import FAILED, QUEUED, RUNNING, STOPPED, STOPPING
from l2d_core.runs.folder import HISTORY, read_config
from l2d_core.runs.log import add_line

WATCH_SECONDS, IDLE_SECONDS, FAULT_SECONDS = 0.4, 300.0, 0.2
MAX_STOP_SECONDS = 90.0  # then a training that is stopped counts as stopped, whether or not its worker has answered
MAX_LOSSES = 3
LOST = "interrupted by a fault outside the training"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClusterSettings:
    """Where trainings run; the fields as in `JobBoard`."""

    data_root: Path
    device: str = "auto"
    scheduler: str | None = None
    workers: int | None = None


class Trainer:
    """Trains what is queued, in the folders of root.

    A fault of the cluster, or of this program, gives what was in hand back to the queue, and it goes on after its last
    epoch; where MAX_LOSSES faults come without an epoch in between, the training ends as interrupted. An error in one
    training ends that one alone.
    """

    def __init__(self, root: Path, queue: JobQueue, settings: ClusterSettings) -> None:
        self._root, self._queue, self._settings = root, queue, settings
        self._lock, self._wake = threading.RLock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._process: ClusterProcess | None = None
        self._client: Any = None
        self._threads: int | None = None  # of torch in each training; None: as the worker was started
        self._is_closing = False

    def add(self, job_id: str, session: str) -> None:
        """Queue a training, as `JobQueue.add` does, and see that it is trained. OSError where no thread can be had."""
        with self._lock:
            if self._thread is None and not self._is_closing:
                thread = threading.Thread(target=self._run, daemon=True, name="jobs")
                try:
                    thread.start()  # it waits for the lock before it looks whether anything is queued
                except RuntimeError as problem:
                    raise OSError("the system gives no more threads at the moment: try again later") from problem
                self._thread = thread
            self._queue.add(job_id, session)
        self._wake.set()

    def stop(self, job_id: str) -> None:
        """Take a training back. It keeps its best so far, which may take a while: this returns at once."""
        entry = self._queue.take_back(job_id)
        if entry is not None:
            threading.Thread(target=self._stop, args=(entry, entry.handle), daemon=True, name="stop a job").start()

    def close(self) -> None:
        """End the cluster as the end of the server would, in the middle of its trainings."""
        with self._lock:
            self._is_closing, thread = True, self._thread
            if self._process is not None:
                self._process.close()
        self._wake.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """The thread: one cluster after the other, while there are trainings."""
        while True:
            try:
                with ExitStack() as stack:
                    if self._open(stack):
                        self._serve()
            except Exception:
                _LOG.exception("the queue of trainings met a fault")
                time.sleep(FAULT_SECONDS)
            in_hand = self._queue.entries(*IN_HAND)
            for entry in self._queue.entries() if self._is_closing else in_hand or self._queue.entries():
                self._lose(entry, LOST)
            with self._lock:
                if self._is_closing or not len(self._queue):
                    self._thread = None
                    return

    def _open(self, stack: ExitStack) -> bool:
        """Have a client of the scheduler, or of a new embedded cluster, for as long as the stack lasts.

        Where that cannot be had, all that wait end, with the reason.
        """
        try:
            self._client = self._connect(stack)
        except Exception as problem:
            message = " ".join(str(problem).split()) or type(problem).__name__
            for entry in self._queue.entries():
                add_line(self._root / entry.job_id, message)
                self._queue.move(entry, ENDED, how="" if entry.losses else FAILED, message=message)
            return False
        return True

    def _connect(self, stack: ExitStack) -> Any:
        address, credentials = self._settings.scheduler, None
        if address is None:
            self._process = process = ClusterProcess(self._settings.workers, self._settings.device)
            stack.callback(process.close)
            address, credentials = process.address, process.credentials
            self._queue.places, self._threads = process.places, process.threads
        from l2d_core.sweeps.cluster import open_cluster  # takes a second, which a page that waits need not share

        return stack.enter_context(open_cluster(address, credentials=credentials))

    def _serve(self) -> None:
        """Hand over, watch and end trainings, until there have been none for a while or the cluster is lost."""
        busy = time.monotonic()
        while self._client.status == "running" and not self._is_closing:
            self._wake.clear()
            self._hand_over()
            self._watch()
            busy = time.monotonic() if len(self._queue) else busy
            if time.monotonic() - busy > IDLE_SECONDS:
                return
            self._wake.wait(WATCH_SECONDS)

    def _hand_over(self) -> None:
        if self._settings.scheduler is not None:
            self._queue.places = max(1, len(self._client.nthreads()))
        for entry in self._queue.next_up():
            try:
                handle = self._submit(self._root / entry.job_id)
            except Exception as problem:
                self._fail(entry, problem)
                continue
            if not self._queue.move(entry, HANDED_OVER, handle=handle):  # it was stopped meanwhile
                threading.Thread(target=self._stop, args=(entry, handle), daemon=True, name="stop a job").start()

    def _submit(self, folder: Path) -> Any:
        from l2d_core.sweeps.cluster import submit

        options = (self._settings.data_root, self._settings.device, self._threads)
        return submit(self._client, read_config(folder), folder, *options)

    def _watch(self) -> None:
        for entry in self._queue.entries(STOPPING):
            if time.monotonic() - entry.since > MAX_STOP_SECONDS:
                self._queue.move(entry, ENDED, how=STOPPED)
        entries = self._queue.entries(HANDED_OVER, RUNNING)
        for entry, outcome in zip(entries, self._outcomes([entry.handle for entry in entries]), strict=True):
            if isinstance(outcome, Exception):
                self._fail(entry, outcome)
            else:
                self._note(entry, outcome.state, outcome.message)

    def _outcomes(self, handles: list[Any]) -> list[Any]:
        """The `Outcome` of each, or the exception that its own is; together, and one by one where that fails."""
        from l2d_core.sweeps.cluster import outcomes_of

        if not handles:
            return []
        try:
            return outcomes_of(self._client, handles)
        except Exception as problem:
            if len(handles) == 1:
                return [problem]
            return [outcome for handle in handles for outcome in self._outcomes([handle])]

    def _note(self, entry: Entry, state: str, message: str) -> None:
        if state == RUNNING:
            self._queue.move(entry, RUNNING)
        elif state == STOPPED:  # and not by its owner
            self._lose(entry, message or LOST)
        elif state != QUEUED:
            self._queue.move(entry, ENDED, how=FAILED if state == FAILED else "", message=message)

    def _fail(self, entry: Entry, problem: Exception) -> None:
        """End a training that met an error, or lose it where the cluster is lost."""
        if self._client.status != "running":
            self._lose(entry, LOST)
            return
        if not isinstance(problem, ValueError | OSError):
            _LOG.error("training %s met a fault", entry.job_id, exc_info=problem)
        message = " ".join(str(problem).split()) or type(problem).__name__
        add_line(self._root / entry.job_id, message)
        self._queue.move(entry, ENDED, how=FAILED, message=message)

    def _lose(self, entry: Entry, why: str) -> None:
        """Queue a training again, with its place; end it where it is stopped, or was lost too often."""
        if entry.phase == STOPPING:
            self._queue.move(entry, ENDED, how=STOPPED)
            return
        written = _history_bytes(self._root / entry.job_id)
        entry.losses = entry.losses + 1 if written <= entry.history_bytes else 1
        entry.history_bytes = written
        is_over = self._is_closing or entry.losses >= MAX_LOSSES
        add_line(self._root / entry.job_id, why if is_over else f"{why}; it continues automatically")
        self._queue.move(entry, ENDED if is_over else WAITING)

    def _stop(self, entry: Entry, handle: Any) -> None:
        from l2d_core.sweeps.cluster import stop

        with suppress(Exception):  # where the cluster is lost meanwhile there is nothing left to stop
            stop(self._client, [handle])
        self._queue.move(entry, ENDED, how=STOPPED)


def _history_bytes(folder: Path) -> int:
    try:
        return (folder / HISTORY).stat().st_size
    except OSError:
        return 0
