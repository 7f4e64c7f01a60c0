"""A Dask scheduler and workers on loopback, each a process of its own, as on a real cluster."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

from l2d_core.common.paths import PROGRAM
from l2d_core.config import ExpertConfig, RunConfig

# PYTHONPATH: the library as it is here, whether or not it is installed.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROGRAM)}
# A training of a few seconds.
DIGITS = RunConfig(
    dataset="digits",
    model="wide_resnet",
    model_options={"depth": 10, "width": 1},
    expert=ExpertConfig(accuracy=(0.7,)),
    epochs=2,
    learning_rate=0.02,
    precision="float32",
    augment="none",
)
LOCAL = ["--host", "127.0.0.1", "--no-dashboard"]


@contextmanager
def process(*arguments, **options):
    """python with these arguments, killed at the end if it still runs."""
    command = [sys.executable, *map(str, arguments)]
    with subprocess.Popen(command, env=ENVIRONMENT, cwd=PROGRAM, text=True, **options) as started:
        try:
            yield started
        finally:
            started.kill()


def wait_until(is_so, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


class Cluster:
    """A scheduler; workers are added one by one, and can be killed."""

    def __init__(self, folder, stack):
        self.folder, self.stack, self.workers = folder, stack, []
        about = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", about)
        wait_until(lambda: about.exists() and about.read_text().endswith("}"), "the scheduler")
        self.address = json.loads(about.read_text())["address"]

    def _start(self, kind, *arguments):
        log = self.stack.enter_context((self.folder / f"{kind}.log").open("a"))
        arguments = ["-m", f"distributed.cli.dask_{kind}", *arguments, *LOCAL]
        return self.stack.enter_context(process(*arguments, stdout=log, stderr=log))

    def have_workers(self, count):
        """See to it that so many workers are alive, or on their way."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < count:
            options = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", self.folder]
            self.workers.append(self._start("worker", self.address, *options))


@contextmanager
def dask_cluster(folder):
    with ExitStack() as stack:
        yield Cluster(folder, stack)
