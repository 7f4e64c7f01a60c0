"""What the workers of a test do; imported in their processes."""

import os
import signal
import time


def work(what, on_progress):
    if what == "pid":
        return os.getpid()
    if what == "niceness":
        return os.nice(0)
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "bad settings":
        raise ValueError("noise must be at most 1, got 2")
    if what == "no data":
        raise FileNotFoundError("there is no file features.npz")
    if what == "fault":
        raise ZeroDivisionError("division by zero")
    if what == "count":
        return [on_progress(step / 4) for step in range(4)]
    while on_progress(0.5) is not False:  # "until dropped"
        time.sleep(0.01)
    raise RuntimeError("its own reason to end")
