"""The process that owns the embedded cluster of trainings; it ends, and all workers with it, when the server does.

It is a Python of its own because Dask starts workers as copies of the program that asks for them, and the server must
not be copied.
"""

import json
import multiprocessing
import os
import subprocess
import sys
from contextlib import suppress

from app.kit.processes import command_of, environment, give_way

NICENESS = 10  # trainings give way to pages and to the live lab's fits
QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"  # it warns of what it clears away at an abrupt end
NOT_STARTED = "the processes that train could not be started; the server's log says why"


class ClusterProcess:
    """The process, seen from the server; workers, device: as in `plan_workers`.

    address: of its scheduler; credentials: what a client needs, as in `open_cluster`; places: how many trainings run at
    once, with `threads` of torch each. OSError where it, or its workers, cannot be started.
    """

    def __init__(self, workers: int | None, device: str) -> None:
        self._process = subprocess.Popen(
            [*command_of("app.jobs.cluster_process"), json.dumps(workers), device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment() | {"PYTHONWARNINGS": QUIET},
            # Ctrl-C in a terminal is for the server. Not a new session: Linux may give each session an equal share of
            # the CPU, and then niceness counts for nothing.
            process_group=0,
            text=True,
        )
        self._pipes = [pipe for pipe in (self._process.stdout, self._process.stdin) if pipe is not None]
        about = json.loads(self._pipes[0].readline() or "{}")
        if "address" not in about:
            self.close()
            raise OSError(about.get("problem", NOT_STARTED))
        self.address, self.credentials = about["address"], about["credentials"]
        self.places, self.threads = about["places"], about["threads"]

    def close(self) -> None:
        """End the process; its workers end when they notice, at once."""
        self._process.kill()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        self._process.wait()


def serve(workers: int | None, device: str) -> None:
    """The process's whole life: start the cluster, say how to reach it, and wait for the server to end."""
    from l2d_core.sweeps.cluster import CPU_COUNT, credentials_of, open_cluster, plan_workers

    give_way(NICENESS)
    places, threads = plan_workers(device, CPU_COUNT, workers)
    with open_cluster(workers=places, device=device) as client:
        address = client.scheduler_info()["address"]
        _say({"address": address, "credentials": credentials_of(client), "places": places, "threads": threads})
        sys.stdin.buffer.read()  # the other end is open for as long as the server lives
        for worker in multiprocessing.active_children():
            worker.kill()  # a run has to end as one that was interrupted, and at once
        os._exit(0)


def _say(about: dict) -> None:
    """Tell the server, through a pipe that no other process reads."""
    with suppress(BrokenPipeError):  # the server has ended meanwhile, as the end of its other pipe says as well
        print(json.dumps(about), flush=True)


if __name__ == "__main__":
    try:
        serve(json.loads(sys.argv[1]), sys.argv[2])
    except OSError as problem:
        _say({"problem": str(problem)})
        raise
