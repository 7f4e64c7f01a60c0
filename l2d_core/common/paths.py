"""The locations of this program and its files, and the other settings that environment variables give (L2D_...)."""

import os
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2]
PRETRAINED = PROGRAM / "pretrained"
# An empty variable is one that is not set; no shell writes out a "~" from a service's or a container's settings.
DATA_ROOT = Path(os.environ.get("L2D_DATA_ROOT") or "data").expanduser()  # data sets that are not shipped
RUNS_ROOT = Path(os.environ.get("L2D_RUNS_ROOT") or "runs").expanduser()  # a folder a training; git ignores this one


SCHEDULER = os.environ.get("L2D_SCHEDULER") or None  # the address of a Dask scheduler that trains what visitors start


def wanted_workers() -> int | None:
    """The number of worker processes that L2D_WORKERS gives; None where it gives none. ValueError on other text."""
    text = os.environ.get("L2D_WORKERS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"L2D_WORKERS must be a whole number of at least 1, got {text[:40]!r}")
    return int(text)


def offers_training() -> bool:
    """Whether visitors may start trainings: unless L2D_TRAINING is off. ValueError on a word other than on and off."""
    word = os.environ.get("L2D_TRAINING", "on").strip().casefold()
    if word not in ("", "on", "off"):
        raise ValueError(f"L2D_TRAINING must be on or off, got {word[:40]!r}")
    return word != "off"


def served_data_root() -> Path | None:
    """The folder that L2D_DATA_ROOT names now; None where it names none, or one that is not there."""
    named = os.environ.get("L2D_DATA_ROOT", "")
    return Path(named).expanduser() if named and Path(named).expanduser().is_dir() else None


def links_out(folder: Path, root: Path) -> bool:
    """Whether a folder, or what lies directly in it, is a link that leads out of root. OSError where it is missing."""
    with os.scandir(folder) as entries:
        links = [Path(entry.path) for entry in entries if entry.is_symlink()]
    links += [folder] if folder.is_symlink() else []
    return any(not link.resolve().is_relative_to(root.resolve()) for link in links)
