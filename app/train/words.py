"""A training in words: its state, progress, settings, and results so far."""

from app.jobs.board import JobStatus
from app.jobs.folder import MAX_NAME
from app.jobs.menu import DATASETS, NETWORKS, network_of
from app.jobs.states import (
    BROKEN,
    DONE,
    FAILED,
    INTERRUPTED,
    QUEUED,
    RUNNING,
    STARTING,
    STOPPED,
    STOPPING,
)
from app.kit.html import render
from app.kit.looks import GREY, SYSTEMS
from app.kit.text import plain
from l2d_core.evaluation.measures import MEASURES, name_of_column
from l2d_core.runs.progress import clock, percent
from l2d_core.surrogates import SURROGATES

# State -> colour of the badge and icon.
BADGES = {
    STARTING: ("blue", ":material/hourglass_top:"),
    QUEUED: ("gray", ":material/hourglass_empty:"),
    RUNNING: ("blue", ":material/play_arrow:"),
    STOPPING: ("blue", ":material/pause:"),
    STOPPED: ("gray", ":material/stop:"),
    INTERRUPTED: ("orange", ":material/power_off:"),
    FAILED: ("orange", ":material/error:"),
    DONE: ("green", ":material/check:"),
    BROKEN: ("orange", ":material/error:"),
}
MARK = '<span class="mark" style="background: {{ color }}"></span>'


def state(view: JobStatus) -> str:
    """The state with its details: "interrupted at epoch 7", "number 2 in the queue"."""
    epochs = len(view.history)
    if view.state == QUEUED:
        return f"number {view.place} in the queue"
    if view.state == INTERRUPTED:
        return f"interrupted at epoch {epochs}" if epochs else "interrupted before its first epoch was done"
    if view.state == STOPPED:
        return f"stopped after epoch {epochs}" if epochs else "stopped before its first epoch was done"
    if view.state == BROKEN:
        return "cannot be read"
    return view.state + (" on another server" if view.elsewhere else "")


def badge(view: JobStatus) -> str:
    """The state as a coloured badge in Markdown."""
    color, icon = BADGES[view.state]
    return f":{color}-badge[{icon} {state(view)}]"


def name(view: JobStatus) -> str:
    """The name behind the colour of its system, as Markdown that shows it letter by letter."""
    look = SYSTEMS.get(view.config.surrogate) if view.config else None
    return f"{render(MARK, color=look.color if look else GREY)}**{plain(view.name)}**"


def subject(view: JobStatus) -> str:
    """What is trained on what, in Markdown: "One-vs-all, Wide ResNet 10-1, on Handwritten digits"."""
    if view.config is None:
        return ""
    config = view.config
    surrogate = SURROGATES[config.surrogate].title if config.surrogate in SURROGATES else config.surrogate
    network = network_of(config)
    model = NETWORKS[network].title.partition(",")[0] if network else config.model
    data = DATASETS[config.dataset].lab.title if config.dataset in DATASETS else config.dataset
    # Names of no registry come from a file that was edited by hand, and may be of any length.
    return plain(f"{surrogate[:MAX_NAME]}, {model[:MAX_NAME]}, on {data[:MAX_NAME]}")


def share_done(view: JobStatus) -> float:
    """How far the training is, 0 to 1."""
    if view.config is None:
        return 0.0
    by_epochs = len(view.history) / view.config.epochs
    by_steps = view.progress.steps_done / view.progress.steps_total if view.progress else 0.0
    return min(1.0, max(by_epochs, by_steps))


def how_far(view: JobStatus) -> str:
    """Epoch, progress within it, images/s and the time left, as far as they are known."""
    if view.config is None:
        return ""
    if view.state in (STARTING, QUEUED):
        return "Waiting for a free place" if view.state == QUEUED else "Starting and reading its data"
    epochs, total, progress = len(view.history), view.config.epochs, view.progress
    if view.state == STOPPING:
        return f"Saving the best network so far, after epoch {epochs:,} of {total:,}" if epochs else "Stopping"
    if view.state != RUNNING:
        spent = f" in {clock(view.wall_seconds)}" if epochs else ""
        why = ", since the loss stopped falling" if view.state == DONE and epochs < total else ""
        return f"{epochs:,} of {total:,} epochs{spent}{why}"
    if progress is None:
        return f"Epoch {min(epochs + 1, total):,} of {total:,}: starting"
    within = share_done(view) * total - epochs
    parts = [
        f"Epoch {min(epochs + 1, total):,} of {total:,}: {100 * min(1.0, max(0.0, within)):.0f} %",
        f"{progress.images_per_second:,.0f} images/s",
        f"{clock(progress.seconds_left)} left at most"
        if view.config.patience
        else f"{clock(progress.seconds_left)} left",
    ]
    return ", ".join(parts)


def result(view: JobStatus) -> str:
    """The numbers of the best epoch so far, on the validation cases."""
    if view.config is None or not len(view.history) or view.history["validation_loss"].isna().all():
        return ""
    best = view.history.loc[view.history["validation_loss"].idxmin()]
    values = {name: None if best[name] != best[name] else float(best[name]) for name in _SHARES}
    shares = ", ".join(f"{MEASURES[name_of_column(name)].words} {percent(value)}" for name, value in values.items())
    unit = "bits" if view.config.reference else "nats"
    return f"Best epoch {int(best['epoch'])} on validation: loss {best['validation_loss']:.3f} {unit}, {shares}."


_SHARES = ("system_accuracy", "coverage", "calibration_error")
