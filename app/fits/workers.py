"""Processes that run the live lab's experiments, so that one server can use all cores and its pages do not wait.

A worker is a Python of its own, at the other end of a private pipe; it lives on from job to job, and ends when the
server does. Messages are pickles: both ends are this program, and nothing from a visitor is unpickled.
"""

import gc
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from app.kit.processes import command_of, environment, give_way
from l2d_core.common.machine import memory_bytes, num_processors
from l2d_core.common.paths import wanted_workers

MAX_WORKERS = 8
# Anonymous memory of a worker and of the server, with some room (benchmarks/memory.py measures it).
WORKER_BYTES, SERVER_BYTES = 512 * 2**20, 768 * 2**20
WAIT_SECONDS = 0.2
START_SECONDS = 120
NOT_WANTED = "nobody waits for it any more"
NICENESS = 5  # pages go before fits: a page is done in a tenth of the time


class WorkerLost(OSError):
    """A worker ended in the middle of a job: it was killed, or memory ran out."""

    def __init__(self) -> None:
        super().__init__("the process that trains was ended, perhaps for lack of memory. Move a slider to try again")


def num_workers() -> int:
    """How many workers there may be: L2D_WORKERS, or one per processor as far as they fit into memory, up to 8."""
    fitting = (memory_bytes() - SERVER_BYTES) // WORKER_BYTES
    return wanted_workers() or max(1, min(num_processors(), fitting, MAX_WORKERS))


class Workers:
    """At most `count` workers, each started when it is first needed, or before, by `start`.

    call: "module:function", imported in the worker; it is called with a
    job's arguments and on_progress.
    """

    def __init__(self, call: str, count: int | None = None) -> None:
        self._call = call
        self._changed = threading.Condition()
        # What follows is read and written under it only. The worker that worked last comes first.
        self._ready: list[_Worker] = []
        self._places = num_workers() if count is None else count  # not started
        self._coming = 0  # being started aside
        self._jobs_waiting = 0

    def run(self, *arguments: Any, on_progress: Callable[[float], bool | None]) -> Any:
        """What the function gives for these arguments, or raises; waits for a free worker.

        on_progress gets the share done, and 0 while there is none free; where it returns False the job is dropped,
        and TimeoutError raised. WorkerLost, an OSError, where the worker ended.
        """
        worker = self._take(on_progress)
        try:
            if worker is None or not worker.is_alive:
                worker = _Worker(self._call)
            return worker.run(arguments, on_progress)
        finally:
            is_lost = worker is None or not worker.is_alive
            self._put_back(None if is_lost else worker)
            if is_lost:
                self.start(1)

    @property
    def num_free(self) -> int:
        """How many workers stand ready for a job."""
        return len(self._ready)

    def start(self, count: int | None = None) -> None:
        """Start workers aside, all or so many, where none stands yet; jobs get them when they have imported all."""
        with self._changed:
            count = self._places if count is None else min(count, self._places)
            self._places -= count
            self._coming += count
        for _ in range(count):
            try:
                threading.Thread(target=self._start_aside, daemon=True, name="worker start").start()
            except RuntimeError:  # the system gives no more threads
                self._arrive(None)

    def _start_aside(self) -> None:
        worker = None
        try:
            with suppress(OSError):  # WorkerLost too: the next job tries again, and can say so
                worker = _Worker(self._call)
        finally:
            self._arrive(worker)

    def _arrive(self, worker: "_Worker | None") -> None:
        with self._changed:
            self._coming -= 1
            self._put_back(worker)

    def close(self) -> None:
        """End the workers that are free."""
        with self._changed:
            ready, self._ready = self._ready, []
            self._places += len(ready)
        for worker in ready:
            worker.end()

    def _put_back(self, worker: "_Worker | None") -> None:
        """Let others have a worker, or the place of one that is lost."""
        with self._changed:
            if worker is None:
                self._places += 1
            else:
                self._ready.append(worker)
            self._changed.notify_all()

    def _take(self, on_progress: Callable[[float], bool | None]) -> "_Worker | None":
        """A worker that is ready, or None for one that the job has to start: only where fewer come than jobs wait."""
        with self._changed:
            self._jobs_waiting += 1
        try:
            while True:
                with self._changed:
                    if self._changed.wait_for(self._has_one_for_a_job, WAIT_SECONDS):
                        if self._ready:
                            return self._ready.pop()
                        self._places -= 1
                        return None
                if on_progress(0.0) is False:
                    raise TimeoutError(NOT_WANTED)
        finally:
            with self._changed:
                self._jobs_waiting -= 1

    def _has_one_for_a_job(self) -> bool:
        return bool(self._ready) or (self._places > 0 and self._jobs_waiting > self._coming)


class _Worker:
    """One process, with the pipe to it; ready for jobs once it is made."""

    def __init__(self, call: str) -> None:
        self._pipe, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [*command_of("app.fits.workers"), call, str(other.fileno())],
                env=environment(),
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )
        try:
            if not self._pipe.poll(START_SECONDS):
                raise EOFError
            self._pipe.recv_bytes()  # it has imported all
        except (EOFError, OSError) as problem:
            self.end()
            raise WorkerLost from problem

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def run(self, arguments: tuple[Any, ...], on_progress: Callable[[float], bool | None]) -> Any:
        try:
            kind, value = self._exchange(arguments, on_progress)
        except (EOFError, OSError) as problem:
            self.end()
            raise WorkerLost from problem
        except (
            BaseException
        ):  # what on_progress raised: the job is not wanted, and its answer must not be read as another's
            self.end()
            raise
        if kind == "done":
            return value
        raise value if kind == "failed" else TimeoutError(NOT_WANTED)

    def _exchange(self, arguments: tuple[Any, ...], on_progress: Callable[[float], bool | None]) -> tuple[str, Any]:
        """Send a job and listen until it is over; tell the worker once where nobody wants it any more."""
        self._pipe.send_bytes(pickle.dumps(arguments))
        is_wanted = True
        while True:
            kind, value = pickle.loads(self._pipe.recv_bytes())
            if kind != "progress":
                return kind, value
            if is_wanted and on_progress(value) is False:
                self._pipe.send_bytes(pickle.dumps(None))
                is_wanted = False

    def end(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.wait()


def _serve(call: str, pipe: Connection) -> None:
    """The worker's whole life: job after job, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the server ends first
    module, _, name = call.partition(":")
    gc.disable()  # what is imported stays, and looking through it while it comes takes a fifth of the time
    function = getattr(import_module(module), name)
    gc.freeze()
    gc.enable()
    give_way(NICENESS)  # only now: the lab's first visitor waits for the imports
    with suppress(EOFError, OSError):
        pipe.send_bytes(b"ready")
        while True:
            arguments = pickle.loads(pipe.recv_bytes())
            if arguments is not None:  # else it asks to drop a job that was over by then
                pipe.send_bytes(pickle.dumps(_do(function, arguments, pipe), pickle.HIGHEST_PROTOCOL))


def _do(function: Callable[..., Any], arguments: tuple[Any, ...], pipe: Connection) -> tuple[str, Any]:
    is_wanted = True

    def on_progress(share: float) -> bool:
        nonlocal is_wanted
        pipe.send_bytes(pickle.dumps(("progress", share)))
        is_wanted = is_wanted and not pipe.poll()  # all that can come now is the request to drop it
        return is_wanted

    try:
        return "done", function(*arguments, on_progress=on_progress)
    except (ValueError, OSError) as problem:
        return "failed", problem
    except Exception as problem:  # its own reason to end, or a fault, which the server's log must have
        if not is_wanted:
            return "dropped", None
        traceback.print_exc()
        return "failed", RuntimeError(f"{type(problem).__name__}: {problem}")


if __name__ == "__main__":
    _serve(sys.argv[1], Connection(int(sys.argv[2])))
