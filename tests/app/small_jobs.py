"""Trainings of a second or of minutes, on the digits, and waiting for what comes of them."""

import time
from dataclasses import replace

from l2d_core.config import ExpertConfig, RunConfig

SHORT = RunConfig(
    dataset="digits",
    model="wide_resnet",
    model_options={"depth": 10, "width": 1},
    expert=ExpertConfig(accuracy=(0.7,)),
    epochs=2,
    batch_size=128,
    learning_rate=0.02,
    precision="float32",
    augment="none",
    patience=None,
)
LONG = replace(SHORT, epochs=5000)
PATIENCE_SECONDS = 240  # trainings give way to all else that a busy machine does


def wait_until(is_so, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found
