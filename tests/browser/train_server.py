"""A server of the app with a folder of runs of its own, which can be killed and started again at the same address."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS, END_SECONDS = 60, 20


class TrainServer:
    """address: of the server, which runs once it is started."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.environment = {**os.environ, "L2D_RUNS_ROOT": str(folder / "runs"), "L2D_DATA_ROOT": str(folder)}
        self.environment.pop("L2D_SCHEDULER", None)

    def start(self):
        command = [sys.executable, "-m", "streamlit", "run", "app/Home.py", f"--server.port={self.port}"]
        command += ["--server.address=127.0.0.1", "--server.headless=true"]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=out, stderr=out)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"the server did not answer:\n{self.log.read_text()}")

    def kill(self):
        """End the server without a warning; gives its descendants that outlive it."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return psutil.wait_procs(family, timeout=END_SECONDS)[1]
