"""Progress on a terminal and in a log: what an epoch came to, the speed, and the time that is left."""

import io
import re
from dataclasses import replace

import pytest
from made_runs import CONFIG, report

from l2d_core.runs import progress
from l2d_core.runs.progress import clock, epoch_line, training_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def ticking(monkeypatch):
    """A clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3599, "59:59"), (3600, "1:00:00"), (36061, "10:01:01")],
)
def test_times_are_told_in_minutes_and_hours(seconds, expected):
    assert clock(seconds) == expected


def test_an_epoch_is_told_in_one_line_with_its_unit():
    line = epoch_line(report(2, loss=1.25), 12)
    assert line == (
        "epoch  2 of 12: loss 1.500 nats, on validation 1.250; system accuracy 70.0 %, coverage 60.0 %, ECE 5.0 %; "
        "1,234 images/s"
    )


def test_reference_losses_are_told_in_bits_and_missing_shares_as_dashes():
    line = epoch_line(replace(report(1), reference=True, system_accuracy=None), 3)
    assert "loss 1.500 bits" in line
    assert "system accuracy -," in line


def test_a_terminal_shows_speed_and_time_left(ticking):
    stream = Terminal()
    on_step, on_epoch = training_progress(CONFIG, stream)
    ticking[0] += 50  # reading the data is not training
    on_step(1, 101)
    ticking[0] += 10
    on_step(11, 101)  # one step of 16 cases per second, 90 to go
    drawn = stream.getvalue().split("\r")[-1]
    assert re.fullmatch(r" 11 %\|[#█] +\| 16\.00 images/s, 01:30 left *", drawn), drawn
    ticking[0] += 0.1
    on_step(12, 101)  # too soon to draw again
    assert stream.getvalue().endswith(drawn)
    ticking[0] += 9.9
    on_epoch(report(1))  # 20 seconds an epoch, 2 to go
    assert stream.getvalue().endswith("1,234 images/s, 0:40 left\n")
    assert re.search(r"\r *\repoch 1 of 3", stream.getvalue()), "the bar is wiped out first"


def test_a_log_gets_one_line_per_epoch(ticking):
    stream = io.StringIO()
    on_step, on_epoch = training_progress(CONFIG, stream)
    for step in range(1, 20):
        ticking[0] += 1
        on_step(step, 57)
    on_epoch(report(1))
    assert stream.getvalue().count("\n") == 1
    assert "\r" not in stream.getvalue()


def test_the_time_left_after_a_resumed_run_counts_its_own_epochs_alone(ticking):
    stream = io.StringIO()
    on_step, on_epoch = training_progress(CONFIG, stream)
    on_step(39, 57)
    ticking[0] += 12
    on_epoch(report(2))
    assert stream.getvalue().endswith("0:12 left\n")
