"""A server of the app with a folder of runs of its own, which can be killed and started again at the same address."""

import os
import signal

import psutil

from benchmarks.serving import free_port, start_server

END_SECONDS = 20


class TrainServer:
    """address: of the server, which runs once it is started."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.environment = {**os.environ, "L2D_RUNS_ROOT": str(folder / "runs"), "L2D_DATA_ROOT": str(folder)}
        self.environment.pop("L2D_SCHEDULER", None)

    def start(self):
        self.process = start_server(self.port, self.log, environment=self.environment)

    def kill(self):
        """End the server without a warning; gives its descendants that outlive it."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return psutil.wait_procs(family, timeout=END_SECONDS)[1]
