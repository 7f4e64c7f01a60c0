"""A job's folder: that of a run, named by the job's id, with a file job.json beside the files of the run."""

import hashlib
import hmac
import json
import re
import secrets
import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath

import numpy as np
import pandas as pd

from app.jobs.states import BROKEN, CAN_RESUME, DONE, FAILED, INTERRUPTED, PENDING, STOPPED
from l2d_core.common.checks import brief, require_known, require_range
from l2d_core.common.files import write_whole
from l2d_core.common.json_fields import parse_json, read_fields, read_text_file
from l2d_core.common.names import seen_letters
from l2d_core.common.paths import links_out
from l2d_core.config import RunConfig
from l2d_core.runs.folder import (
    CONFIG,
    ENVIRONMENT,
    HISTORY,
    begin_run,
    read_config,
    read_environment,
    read_history,
    split_notes,
)
from l2d_core.runs.log import Progress

JOB, JOB_VERSION = "job.json", 1
ID = re.compile(r"[0-9a-f]{16}")
LINK = re.compile(r"([0-9a-f]{16})(?:\.([\w-]{20,64}))?", re.ASCII)
MAX_NAME = 80
MAX_TIME = 1e11  # some thousand years, in seconds since 1970
MAX_MESSAGE = 1000
# An absolute path: in quotes with all its letters; else up to a space or a mark, and no part of an address or a word.
_PATH = re.compile(r"""(?<=')(?P<quoted>/[^'\n]+)(?=')|(?<![\w.:/~<-])(?P<plain>(?:/[^\s/'"():;,]+)+/?)""")


class NotYours(PermissionError):
    """Whoever asks does not hold the job's link."""


class NoSuchJob(LookupError):
    """There is no job of that id, or no more."""


@dataclass(frozen=True)
class Link:
    """What finds a job: its id, which all can see, and the token of its owner, or "" for one who only looks."""

    id: str
    token: str = ""

    def __str__(self) -> str:
        return f"{self.id}.{self.token}" if self.token else self.id

    @classmethod
    def read(cls, text: str) -> "Link | None":
        """The link in a text; None where it is none."""
        match = LINK.fullmatch(text)
        return cls(match[1], match[2] or "") if match else None


@dataclass(frozen=True)
class Record:
    """What job.json says. token_sha256: in hex; created: seconds since 1970; ended: "stopped" or "failed", or "" where
    the run's own files say how it is; message: why it failed."""

    name: str = ""
    token_sha256: str = ""
    created: float = 0.0
    ended: str = ""
    message: str = ""


@dataclass(frozen=True)
class JobStatus:
    """What is known of a job at a moment.

    state: one of STATES; place: among those that wait, from 1, where it is "queued". message: what is wrong. history:
    the fields of `EpochReport`, one row per epoch. elsewhere: another program trains it, which this server cannot stop.
    split, split_warning: what is in each part of its data, and what is wrong with that, in words.
    """

    id: str
    name: str
    state: str
    created: float = 0.0
    config: RunConfig | None = None
    history: pd.DataFrame = field(default_factory=pd.DataFrame)
    progress: Progress | None = None
    place: int = 0
    message: str = ""
    wall_seconds: float = 0.0
    elsewhere: bool = False
    split: str = ""
    split_warning: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether it waits or runs."""
        return self.state in PENDING

    @property
    def has_scores(self) -> bool:
        """Whether training has ended with scores that can be compared."""
        return self.state in (DONE, STOPPED) and len(self.history) > 0

    @property
    def can_resume(self) -> bool:
        """Whether its owner can have it go on."""
        return self.state in CAN_RESUME


def make_job(root: Path, name: str, config: RunConfig) -> Link:
    """A new job's folder, and the link of its owner. OSError where it cannot be made; nothing is left of it then."""
    link = Link(secrets.token_hex(8), secrets.token_urlsafe(24))
    try:
        begin_run(root / link.id, config)
        write_record(root / link.id, Record(clean_name(name), _digest(link.token), time.time()))
    except OSError as problem:
        shutil.rmtree(root / link.id, ignore_errors=True)
        raise OSError(without_path(root, problem)) from problem
    return link


def clean_name(name: str) -> str:
    """A name as it is shown: one line of at most MAX_NAME characters, which can be printed."""
    name = seen_letters(name[: 10 * MAX_NAME])  # of a file that was edited by hand it may be of any length
    printed = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(printed.split())[:MAX_NAME].rstrip() or "no name"


def find_folder(root: Path, job_id: str) -> Path:
    """The folder of the job of that id.

    NoSuchJob where there is none, where it holds a link out of root, and where this program may not look into it.
    """
    folder = root / job_id
    try:
        is_there = ID.fullmatch(job_id) and (folder / JOB).is_file() and not links_out(folder, root)
    except OSError:  # also where it is deleted at this moment
        is_there = False
    if not is_there:
        raise NoSuchJob("there is no such training here: it was deleted, or the link belongs to another server")
    return folder


def require_owner(record: Record, link: Link) -> None:
    """NotYours unless the link has the token of the job's owner."""
    if not hmac.compare_digest(_digest(link.token).encode(), record.token_sha256.encode()):
        raise NotYours("only the owner of this training can stop, change or delete it: open the owner's link")


def read_record(folder: Path) -> Record:
    """What job.json says; ValueError where it is damaged or of another version."""
    values = parse_json(read_text_file(folder / JOB, JOB), JOB)
    version = values.pop("version", None) if isinstance(values, dict) else None
    if version != JOB_VERSION:
        raise ValueError(f"{JOB} has version {brief(version)}, and this program reads version {JOB_VERSION}")
    record = Record(**read_fields(JOB, values, Record))
    require_known(f"{JOB}.ended", record.ended, ("", STOPPED, FAILED))
    require_range(f"{JOB}.created", np.asarray(record.created), 0, MAX_TIME)
    return replace(record, name=clean_name(record.name), message=record.message[:MAX_MESSAGE])


def write_record(folder: Path, record: Record) -> None:
    """Write job.json. OSError where it cannot be written."""
    write_whole(folder / JOB, json.dumps({"version": JOB_VERSION, **asdict(record)}, indent=2).encode())


def read_job(folder: Path) -> JobStatus:
    """A job as its files describe it: as one that nobody trains at this moment."""
    record = Record(name=folder.name)
    try:
        record = read_record(folder)
        config, environment = read_config(folder), read_environment(folder)
        history = _read_epochs(folder, config)
    except (ValueError, OSError) as problem:
        message = without_path(folder.parent, problem)[:MAX_MESSAGE]
        return JobStatus(folder.name, record.name, BROKEN, record.created, message=message)
    state = DONE if environment["state"] == "done" else record.ended or INTERRUPTED
    split, warning = split_notes(environment)
    return JobStatus(
        id=folder.name,
        name=record.name,
        state=state,
        created=record.created,
        config=config,
        history=history,
        message=record.message if state == FAILED else "",
        wall_seconds=float(environment["wall_seconds"]),
        split=split,
        split_warning=warning,
    )


def _read_epochs(folder: Path, config: RunConfig) -> pd.DataFrame:
    history = read_history(folder) if (folder / HISTORY).is_file() else pd.DataFrame()
    if len(history) and list(history["epoch"]) != list(range(1, min(len(history), config.epochs) + 1)):
        raise ValueError(f"{HISTORY} must have one row per epoch, from 1 to {config.epochs:,} at most")
    return history


def without_path(root: Path, problem: Exception | str) -> str:
    """A message in which a file in root is named from there on, and any other path by its last part.

    Where things lie on the server is no visitor's business.
    """
    text = str(problem).replace(f"{root}/", "").replace(str(root), "the folder of runs")
    return _PATH.sub(lambda found: PurePath(found["quoted"] or found["plain"]).name, text)


def stamp(folder: Path) -> list[tuple[int, int]]:
    """What changes whenever one of the files does that `read_job` reads."""
    found: list[tuple[int, int]] = []
    for name in (JOB, CONFIG, ENVIRONMENT, HISTORY):
        try:
            status = (folder / name).stat()
            found.append((status.st_mtime_ns, status.st_ino))
        except OSError:
            found.append((0, 0))
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
