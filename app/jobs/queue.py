"""The line of jobs that this server has handed in: a thread that minds them on a cluster, from first to last."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.jobs.cluster_process import Host
from l2d_core.runs.folder import read_config
from l2d_core.runs.log import add_line

LOOK_SECONDS, IDLE_SECONDS = 0.4, 300.0
WAITING = ("starting", "queued")


@dataclass
class _Job:
    """state: "starting", "queued", "running" or "stopping"; handle: of `cluster.submit`, once it is handed over."""

    state: str = "starting"
    handle: Any = None


class JobLine:
    """Jobs by id, in the order in which they were handed in. on_end: (id, "stopped", "failed" or "", message).

    Other arguments as of `JobBoard`. The cluster is opened with the first job, and closed where there has been none
    for IDLE_SECONDS.
    """

    def __init__(
        self,
        root: Path,
        data_root: Path,
        device: str,
        scheduler: str | None,
        workers: int | None,
        on_end: Callable[[str, str, str], None],
    ) -> None:
        self._root, self._data_root, self._device = root, data_root, device
        self._scheduler, self._workers, self._on_end = scheduler, workers, on_end
        self._lock, self._wake = threading.RLock(), threading.Event()
        self._jobs: dict[str, _Job] = {}
        self._thread: threading.Thread | None = None
        self._host: Host | None = None
        self._client: Any = None
        self._places, self._threads = workers or 1, None  # how many train at once, with how many threads each
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job_id: str) -> None:
        """Put a job at the end of the line; one that is in it stays where it is."""
        with self._lock:
            self._jobs.setdefault(job_id, _Job())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="jobs")
                self._thread.start()
        self._wake.set()

    def state(self, job_id: str) -> tuple[str, int]:
        """How a job of the line is, and its place among those that wait; ("", 0) for one that is not in it."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return "", 0
            waiting = [name for name, other in self._jobs.items() if other.state in WAITING]
            if job_id not in waiting:
                return job.state, 0
            free = self._places - (len(self._jobs) - len(waiting))
            place = max(0, waiting.index(job_id) + 1 - free)
            return "queued" if place else "starting", place

    def stop(self, job_id: str) -> None:
        """Take a job out of the line; it keeps its best so far, which may take a while: this returns at once."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.state == "stopping":
                return
            if job.handle is None:
                self._end(job_id, "stopped")
                return
            job.state = "stopping"
        threading.Thread(target=self._stop, args=(job_id, job), daemon=True, name="stop a job").start()

    def close(self) -> None:
        """End the cluster as the end of the server would, in the middle of its jobs."""
        with self._lock:
            self._is_closing, thread = True, self._thread
            if self._host is not None:
                self._host.close()
        self._wake.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """The thread: a cluster after the other, as long as there are jobs."""
        while True:
            try:
                with ExitStack() as stack:
                    self._open(stack)
                    self._mind()
            except Exception as problem:  # whatever keeps the cluster from working, the jobs have to say so
                self._fail_all(" ".join(str(problem).split()) or type(problem).__name__)
            with self._lock:
                for job_id in [name for name, job in self._jobs.items() if job.handle is not None]:
                    self._end(job_id)  # its cluster is gone: it is interrupted
                if self._is_closing or not self._jobs:
                    self._thread = None
                    return

    def _open(self, stack: ExitStack) -> None:
        """Have a client of the scheduler, or of a new embedded cluster; both end with the stack."""
        address = self._scheduler
        if address is None:
            self._host = host = Host(self._workers, self._device)
            stack.callback(host.close)
            address, self._places, self._threads = host.address, host.places, host.threads
        from l2d_core.sweeps.cluster import (
            open_cluster,  # a second's work, with which the page that waits need not compete
        )

        self._client = stack.enter_context(open_cluster(address))

    def _mind(self) -> None:
        """Hand over what is new, and note what begins and ends, until it is quiet or the cluster is lost."""
        busy = time.monotonic()
        while self._client.status == "running" and not self._is_closing:
            self._wake.clear()
            self._hand_over()
            self._look()
            busy = time.monotonic() if self._jobs else busy
            if time.monotonic() - busy > IDLE_SECONDS:
                return
            self._wake.wait(LOOK_SECONDS)

    def _hand_over(self) -> None:
        from l2d_core.sweeps.cluster import submit

        if self._scheduler is not None:
            self._places = max(1, len(self._client.nthreads()))
        with self._lock:
            for job_id, job in self._jobs.items():
                if job.handle is None:
                    folder = self._root / job_id
                    options = (self._data_root, self._device, self._threads)
                    job.handle = submit(self._client, read_config(folder), folder, *options)

    def _look(self) -> None:
        from l2d_core.sweeps.cluster import outcomes_of

        with self._lock:
            watched = {job_id: job for job_id, job in self._jobs.items() if job.state != "stopping"}
        if not watched:
            return
        outcomes = outcomes_of(self._client, [job.handle for job in watched.values()])
        with self._lock:
            for (job_id, job), outcome in zip(watched.items(), outcomes, strict=True):
                if self._jobs.get(job_id) is not job or job.state == "stopping":
                    continue  # it was taken back meanwhile
                if outcome.state in ("queued", "running"):
                    job.state = outcome.state
                else:  # where it was stopped, but not by its owner, its files say that it is interrupted
                    self._end(job_id, "failed" if outcome.state == "failed" else "", outcome.message)

    def _stop(self, job_id: str, job: _Job) -> None:
        from l2d_core.sweeps.cluster import stop

        with suppress(Exception):  # the cluster may be lost while it stops; then there is nothing left to stop
            stop(self._client, [job.handle])
        with self._lock:
            if self._jobs.get(job_id) is job:
                self._end(job_id, "stopped")

    def _end(self, job_id: str, ended: str = "", message: str = "") -> None:
        """Take a job from the line, and say so. The lock is held."""
        self._on_end(job_id, ended, message)
        del self._jobs[job_id]

    def _fail_all(self, message: str) -> None:
        with self._lock:
            for job_id in list(self._jobs):
                add_line(self._root / job_id, message)
                self._end(job_id, "failed", message)
