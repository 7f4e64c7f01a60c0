"""A Streamlit server as a user would start it, on a free port of this machine, for benchmarks and browser tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from l2d_core.common.paths import PROGRAM

APP = ("-m", "streamlit", "run", "app/Home.py")
START_SECONDS = 60


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(
    port: int, log: Path, *, program: Sequence[str | Path] = APP, environment: Mapping[str, str] | None = None
) -> subprocess.Popen:
    """Start a server, wait until it is healthy, and return its process; it writes what it prints at the end of `log`.

    program: what Python runs, and its arguments. environment: all variables; None means those of this process.
    RuntimeError, with the log, where the server ends or does not answer within START_SECONDS.
    """
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    with log.open("ab") as out:
        command = [sys.executable, *map(str, program), *options]
        process = subprocess.Popen(command, cwd=PROGRAM, stdout=out, stderr=out, env=environment or os.environ)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return process
        except OSError:
            time.sleep(0.02)
    why = f"did not answer within {START_SECONDS} s" if process.poll() is None else f"ended with {process.returncode}"
    process.kill()
    process.wait()
    raise RuntimeError(f"the server {why}:\n{log.read_text(errors='replace')}")
