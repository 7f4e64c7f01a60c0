"""Training told on a terminal: a line that is kept up to date, and a line an epoch that stays."""

import time
from collections.abc import Callable
from typing import Any

from l2d_core.config import RunConfig
from l2d_core.evaluation.epoch_report import EpochReport

SECONDS_A_LOOK = 0.2
BAR_WIDTH = 20


def training_progress(
    config: RunConfig, stream: Any
) -> tuple[Callable[[int, int], None], Callable[[EpochReport], None]]:
    """on_step and on_epoch for `train`, which write to the text stream; steps only where it is a terminal."""
    start = time.monotonic()
    first = shown = 0.0

    def on_step(done: int, total: int) -> None:
        nonlocal first, shown, start
        now = time.monotonic()
        if not first:
            first, start = done, now  # from here on only training is timed, not the reading of the data
        elif stream.isatty() and now - shown >= SECONDS_A_LOOK:
            shown = now
            speed = (done - first) / max(now - start, 1e-9)
            left = clock((total - done) / speed)
            stream.write(f"\r{_bar(done / total)} {speed * config.batch_size:,.0f} images/s, {left} left\033[K")
            stream.flush()

    epochs = 0

    def on_epoch(report: EpochReport) -> None:
        nonlocal epochs
        epochs += 1
        left = (config.epochs - report.epoch) * (time.monotonic() - start) / epochs
        clear = "\r\033[K" if stream.isatty() else ""
        stream.write(f"{clear}{epoch_line(report, config.epochs)}, {clock(left)} left\n")
        stream.flush()

    return on_step, on_epoch


def epoch_line(report: EpochReport, epochs: int) -> str:
    """What an epoch came to, in a line."""
    unit = "bits" if report.reference else "nats"
    return (
        f"epoch {report.epoch:>{len(str(epochs))}} of {epochs}: loss {report.train_loss:.3f} {unit}, on validation "
        f"{report.validation_loss:.3f}; system accuracy {percent(report.system_accuracy)}, coverage "
        f"{percent(report.coverage)}, ECE {percent(report.calibration_error)}; {report.images_per_second:,.0f} images/s"
    )


def percent(share: float | None) -> str:
    """A share in 0..1 in percent, or a dash where it is over no cases."""
    return "-" if share is None else f"{100 * share:.1f} %"


def clock(seconds: float) -> str:
    """A time as m:ss or h:mm:ss."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _bar(share: float) -> str:
    filled = round(share * BAR_WIDTH)
    return f"[{'=' * filled}{' ' * (BAR_WIDTH - filled)}] {100 * share:3.0f} %"
