"""Progress and log files in the folder of a run, for those who watch it train."""

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from l2d_core.common.files import open_regular
from l2d_core.common.json_fields import read_text_file
from l2d_core.common.names import printable
from l2d_core.config import RunConfig
from l2d_core.evaluation.epoch_report import EpochReport
from l2d_core.runs.folder import CONFIG, read_environment, split_notes
from l2d_core.runs.progress import epoch_line

LOG, PROGRESS = "log.txt", "progress.json"
WRITE_SECONDS = 0.5
LOG_TAIL_BYTES = 64 * 1024


@dataclass(frozen=True)
class Progress:
    """The progress of a training: steps over all epochs; speed and time left are those of the current start."""

    steps_done: int
    steps_total: int
    images_per_second: float
    seconds_left: float


def keep_log(
    folder: str | os.PathLike, config: RunConfig
) -> tuple[Callable[[int, int], None], Callable[[EpochReport], None]]:
    """on_step and on_epoch for `train`, which write to the run's folder; a full disk does not stop the training."""
    folder, first, start, written = Path(folder), 0, time.monotonic(), 0.0

    def on_step(done: int, total: int) -> None:
        nonlocal first, start, written
        now = time.monotonic()
        if not first:
            first, start = done, now  # from here on, training is timed, without the reading of the data
            _log_split(folder)
        elif now - written >= WRITE_SECONDS:
            written = now
            speed = (done - first) / max(now - start, 1e-9)
            _write_progress(folder, Progress(done, total, speed * config.batch_size, (total - done) / speed))

    def on_epoch(report: EpochReport) -> None:
        add_line(folder, epoch_line(report, config.epochs))

    return on_step, on_epoch


def _log_split(folder: Path) -> None:
    with suppress(OSError, ValueError):
        for text in filter(None, split_notes(read_environment(folder))):
            add_line(folder, text)


def add_line(folder: str | os.PathLike, text: str) -> None:
    """Append a line with the time (UTC) to the log of a run; nothing is written in a folder that is not a run's."""
    if (Path(folder) / CONFIG).is_file():
        stamp = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        with suppress(OSError), open_regular(Path(folder) / LOG, "a", encoding="utf-8") as file:
            file.write(f"{stamp} {printable(' '.join(text.splitlines()))}\n")


def read_log(folder: str | os.PathLike) -> str:
    """The end of the log, at most LOG_TAIL_BYTES of whole lines; "" if there is none."""
    try:
        with open_regular(Path(folder) / LOG) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LOG_TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text if size <= LOG_TAIL_BYTES else text.partition("\n")[2]


def read_progress(folder: str | os.PathLike) -> Progress | None:
    """The last recorded progress; None if there is none or it cannot be read."""
    try:
        values = Progress(**json.loads(read_text_file(Path(folder) / PROGRESS, PROGRESS)))
        numbers = [float(value) for value in asdict(values).values()]
        is_sound = all(0 <= number < math.inf for number in numbers) and values.steps_total > 0
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return None
    return values if is_sound else None


def _write_progress(folder: Path, progress: Progress) -> None:
    part = folder / f"{PROGRESS}.part"
    with suppress(OSError):
        with open_regular(part, "w", encoding="utf-8") as file:
            json.dump(asdict(progress), file)
        part.replace(folder / PROGRESS)
