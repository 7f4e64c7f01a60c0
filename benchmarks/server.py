"""A Streamlit server for one benchmark: on a free port of this machine, with its memory and processor time."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB_APP = ROOT / "app" / "Home.py"
TRIVIAL_APP = ROOT / "benchmarks" / "trivial_app.py"
START_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A running server. torch_note: the file that `watched_server.py` writes."""

    port: int
    pid: int
    torch_note: Path

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def memory_mib(self) -> float:
        """Resident memory of the server's process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self) -> float:
        """Processor time of all threads of the server's process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(app: Path) -> Iterator[Server]:
    """Start `app` as a user would (settings from .streamlit/config.toml), wait until it answers, and end it after."""
    port = _free_port()
    with tempfile.TemporaryDirectory() as folder:
        note, log_path = Path(folder) / "torch", Path(folder) / "log"
        command = [sys.executable, str(ROOT / "benchmarks" / "watched_server.py"), str(note)]
        options = [f"--server.port={port}", "--server.address=localhost", "--server.headless=true"]
        with log_path.open("wb") as log:
            process = subprocess.Popen([*command, str(app), *options], cwd=ROOT, stdout=log, stderr=log)
        try:
            _wait_until_healthy(port, process, log_path)
            yield Server(port, process.pid, note)
        finally:
            process.terminate()
            process.wait(20)
            _show_problems(log_path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(port: int, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with code {process.returncode}:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"the server did not answer within {START_SECONDS} s:\n{log.read_text()}")


def _show_problems(log: Path) -> None:
    """Tracebacks that the server wrote, which a page may hide: on the error stream, at most 40 lines."""
    lines = log.read_text(errors="replace").splitlines()
    first = next((row for row, line in enumerate(lines) if "Traceback" in line), None)
    if first is not None:
        print("the server's log has:", *lines[first : first + 40], sep="\n", file=sys.stderr)
