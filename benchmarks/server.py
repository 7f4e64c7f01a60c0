"""A Streamlit server for one benchmark: on a free port of this machine, with its memory and processor time."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serving import free_port, start_server

from l2d_core.common.paths import PROGRAM

LAB_APP = PROGRAM / "app" / "Home.py"
TRIVIAL_APP = PROGRAM / "benchmarks" / "trivial_app.py"
END_SECONDS = 20


@dataclass(frozen=True)
class Server:
    """A running server. torch_note: the file that `watched_server.py` writes."""

    port: int
    pid: int
    torch_note: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory_mib(self) -> float:
        """Memory of the server and its workers; what they share counts once."""
        return sum(_proportional_kib(pid) for pid in self.family()) / 1024

    def cpu_seconds(self) -> float:
        """Processor time of the server and its workers so far."""
        ticks = sum(int(fields[11]) + int(fields[12]) for fields in map(_stat, self.family()))
        return ticks / os.sysconf("SC_CLK_TCK")

    def family(self) -> list[int]:
        """The process and its children."""
        parents = {int(folder.name): int(_stat(folder.name)[1]) for folder in Path("/proc").glob("[0-9]*")}
        return [self.pid, *(pid for pid, parent in parents.items() if parent == self.pid)]


class Memory:
    """The server's memory in MiB with its workers: before a block runs, and every few seconds while it does."""

    def __init__(self, server: Server, every_seconds: float) -> None:
        self.samples: list[float] = [server.memory_mib()]
        self._server, self._every, self._end = server, every_seconds, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(self._every):
            self.samples.append(self._server.memory_mib())

    @property
    def before(self) -> float:
        """Before the block ran."""
        return self.samples[0]

    @property
    def highest(self) -> float:
        """The most at any look."""
        return max(self.samples)

    def thirds(self) -> list[float]:
        """Means of the first, the second and the last third of the time."""
        size = max(1, len(self.samples) // 3)
        parts = [self.samples[:size], self.samples[size : 2 * size] or self.samples, self.samples[-size:]]
        return [sum(part) / len(part) for part in parts]


def _stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, ...; zeros where the process has just ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 50


def _proportional_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


@contextmanager
def running(app: Path, **environment: str) -> Iterator[Server]:
    """Start `app` as a user would (settings from .streamlit/config.toml), wait until it answers, and end it after.

    environment: variables beside those of this process.
    """
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        note, log = Path(folder) / "torch", Path(folder) / "log"
        program = [PROGRAM / "benchmarks" / "watched_server.py", note, app]
        process = start_server(port, log, program=program, environment=os.environ | environment)
        try:
            yield Server(port, process.pid, note)
        finally:
            process.terminate()
            _wait_until_ended(process)
            _show_problems(log)


def _wait_until_ended(process: subprocess.Popen) -> None:
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        print(f"the server did not end within {END_SECONDS} s, and was killed", file=sys.stderr)


def _show_problems(log: Path) -> None:
    """Tracebacks that the server wrote, which a page may hide: on the error stream, at most 40 lines."""
    lines = log.read_text(errors="replace").splitlines()
    first = next((row for row, line in enumerate(lines) if "Traceback" in line), None)
    if first is not None:
        print("the server's log has:", *lines[first : first + 40], sep="\n", file=sys.stderr)
