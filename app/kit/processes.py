"""Starting a module of this program as a Python of its own, from whichever folder the server was started in."""

import os
import sys

from l2d_core.common.paths import PROGRAM


def command_of(module: str) -> list[str]:
    """The command, but for the module's arguments; it needs `environment`."""
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """This process's environment, in which the program is found though it may not be installed."""
    paths = [str(PROGRAM), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
