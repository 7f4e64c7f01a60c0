"""Starting a module of this program in a Python process of its own, whatever the server's working directory."""

import os
import sys

from l2d_core.common.paths import PROGRAM


def command_of(module: str) -> list[str]:
    """The command without the module's arguments; it needs `environment`."""
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """This process's environment, extended so that the program is found even if it is not installed."""
    paths = [str(PROGRAM), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
