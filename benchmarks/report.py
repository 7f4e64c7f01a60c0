"""What all benchmarks share: quantiles, tables in Markdown, the machine they ran on, and targets that were missed."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed: no interpolation, so 1 is the maximum."""
    ordered = sorted(values)
    rank = max(1, -(-round(share * 1000) * len(ordered) // 1000))
    return ordered[rank - 1]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that can be pasted into README.md."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine(*packages: str) -> str:
    """One line: date, processor, cores, memory, load and versions. The load says whether the machine was idle."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    parts = [
        date.today().isoformat(),
        f"{len(os.sched_getaffinity(0))} cores of {_processor()}",
        f"{pages / 2**30:.0f} GiB",
        f"load average {os.getloadavg()[0]:.1f} at the start",
        f"Python {platform.python_version()}",
        *(f"{package} {version(package)}" for package in packages),
    ]
    return ", ".join(parts)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Targets:
    """Collects what was to be reached; `exit` prints each target with the number, and exits 1 where one is missed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.missed = 0

    def check(self, reached: bool, what: str) -> None:
        """Note one target: `what` says it in words, with the number that was measured."""
        self.missed += not reached
        self.lines.append(f"- {'reached' if reached else 'MISSED'}: {what}")

    def exit(self) -> None:
        """Print all, and end the program: 0 where all were reached."""
        print("\n" + "\n".join(self.lines))
        sys.exit(1 if self.missed else 0)
