"""Progress of a training on a terminal: a bar, and one line per epoch that stays."""

import time
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from l2d_core.config import RunConfig
from l2d_core.evaluation.epoch_report import EpochReport

BAR = "{percentage:3.0f} %|{bar}| {rate_fmt}, {remaining} left"
REDRAW_SECONDS = 0.2


def training_progress(
    config: RunConfig, stream: Any
) -> tuple[Callable[[int, int], None], Callable[[EpochReport], None]]:
    """on_step and on_epoch for `train`, which write to the text stream; the bar only if it is a terminal."""
    bar: tqdm | None = None
    start, epochs = time.monotonic(), 0

    def on_step(done: int, total: int) -> None:
        nonlocal bar, start
        if bar is None:  # from here on, training is timed, without the reading of the data
            start = time.monotonic()
            options = {"mininterval": REDRAW_SECONDS, "leave": False, "dynamic_ncols": True, "bar_format": BAR}
            scale = {"initial": done, "total": total, "unit": " images", "unit_scale": config.batch_size}
            bar = tqdm(**scale, **options, file=stream, disable=None)  # None: where the stream is no terminal
        bar.update(done - bar.n)

    def on_epoch(report: EpochReport) -> None:
        nonlocal epochs
        epochs += 1
        left = (config.epochs - report.epoch) * (time.monotonic() - start) / epochs
        if bar is not None:
            bar.clear()
        stream.write(f"{epoch_line(report, config.epochs)}, {clock(left)} left\n")
        stream.flush()

    return on_step, on_epoch


def epoch_line(report: EpochReport, epochs: int) -> str:
    """The report of an epoch in one line."""
    unit = "bits" if report.reference else "nats"
    return (
        f"epoch {report.epoch:>{len(str(epochs))}} of {epochs}: loss {report.train_loss:.3f} {unit}, on validation "
        f"{report.validation_loss:.3f}; system accuracy {percent(report.system_accuracy)}, coverage "
        f"{percent(report.coverage)}, ECE {percent(report.calibration_error)}; {report.images_per_second:,.0f} images/s"
    )


def percent(share: float | None) -> str:
    """A share in 0..1 as percent, or a dash if there are no cases."""
    return "-" if share is None else f"{100 * share:.1f} %"


def clock(seconds: float) -> str:
    """A time as m:ss or h:mm:ss."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
