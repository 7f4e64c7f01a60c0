"""SIGTERM ends a command as Ctrl-C does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM, as sent by SLURM, containers and systemd: ends a command as Ctrl-C does, with what it has kept."""


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise Terminated on the first SIGTERM; later ones are ignored, so that the best model so far is still scored."""

    def terminate(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
