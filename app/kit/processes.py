"""Starting a module of this program in a Python process of its own, whatever the server's working directory."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from l2d_core.common.paths import PROGRAM

EXPENDABLE = 500  # added to the share of memory, in thousandths, by which Linux chooses the process to end


def command_of(module: str) -> list[str]:
    """The command without the module's arguments; it needs `environment`."""
    return [sys.executable, "-P", "-m", module]


def give_way(niceness: int) -> None:
    """Have this process, and those it starts, give way to others: in time, and where memory runs out, on Linux.

    A training may need more memory than there is. By itself Linux would end the largest process, which may be the
    server of all visitors.
    """
    os.nice(niceness)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(EXPENDABLE), encoding="ascii")


def environment() -> dict[str, str]:
    """This process's environment, extended so that the program is found even if it is not installed."""
    paths = [str(PROGRAM), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
