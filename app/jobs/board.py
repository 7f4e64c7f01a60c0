"""Trainings that are started from a page: queued, watched, stopped, resumed, and found again by their link.

What is known of a job is read from its folder, except what only this server can know: that the job waits for its turn,
or runs. So a job outlives its page, its visitor and its server.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from app.jobs.folder import (
    ID,
    JobStatus,
    Link,
    NoSuchJob,
    NotYours,
    Record,
    clean_name,
    find_folder,
    make_job,
    read_job,
    read_record,
    require_owner,
    stamp,
    without_path,
    write_record,
)
from app.jobs.queue import JobQueue
from app.jobs.states import INTERRUPTED, RUNNING, STOPPING
from app.jobs.trainer import ClusterSettings, Trainer
from l2d_core.common.paths import DATA_ROOT, RUNS_ROOT, SCHEDULER, offers_training, wanted_workers
from l2d_core.config import RunConfig
from l2d_core.runs.lock import is_held
from l2d_core.runs.log import add_line, read_log, read_progress

__all__ = ["JobBoard", "JobStatus", "Link", "NoSuchJob", "NotYours"]


class JobBoard:
    """The jobs in the folders of `root`, and those of them that this server trains.

    scheduler: the address of a Dask scheduler, whose workers find root and data_root at the same paths; None for an
    embedded cluster in processes of this server's. workers, device: as in `plan_workers`.
    Methods that change a job need its owner's link: NotYours (a PermissionError) with another one, NoSuchJob (a
    LookupError) where it is gone, OSError where its folder cannot be written. No message names a path of this machine.
    session: the visitor's, see `JobQueue`.
    """

    def __init__(
        self,
        root: Path,
        *,
        data_root: Path,
        device: str = "auto",
        scheduler: str | None = None,
        workers: int | None = None,
    ) -> None:
        self.root = Path(root).resolve()
        self._lock = threading.RLock()
        settings = ClusterSettings(Path(data_root).resolve(), device, scheduler, workers)
        self._queue = JobQueue(self._note_end, workers or 1)
        self._trainer = Trainer(self.root, self._queue, settings)
        self._seen: dict[str, tuple[Any, JobStatus]] = {}
        self._writes = threading.Lock()  # of job.json, which is read, changed and written
        self._unwritten: dict[str, Record] = {}  # what the disk had no room for

    def start(self, name: str, config: RunConfig, session: str = "") -> Link:
        """Make a job and queue it. ValueError where training is switched off, or too many wait already."""
        _require_training()
        with self._lock:
            self._queue.require_room(session)
            link = make_job(self.root, name, config)
            try:
                self._trainer.add(link.id, session)
            except OSError:
                shutil.rmtree(self.root / link.id, ignore_errors=True)
                raise
        return link

    def resume(self, link: Link, session: str = "") -> None:
        """Queue a job again, to go on after its last epoch; one that waits, runs or is done stays as it is.

        ValueError as in `start`.
        """
        _require_training()
        with self._lock, self._plainly():
            record = self._own(link)
            if self.look(link.id).can_resume:
                self._queue.require_room(session)
                with self._writes:
                    write_record(self.root / link.id, replace(record, ended="", message=""))
                    self._unwritten.pop(link.id, None)
                self._trainer.add(link.id, session)

    def stop(self, link: Link) -> None:
        """Take a job back, which keeps its best so far. Returns at once."""
        self._own(link)
        add_line(self.root / link.id, "asked to stop")
        self._trainer.stop(link.id)

    def rename(self, link: Link, name: str) -> None:
        """Give a job another name to show."""
        with self._lock, self._writes, self._plainly():
            write_record(self.root / link.id, replace(self._own(link), name=clean_name(name)))

    def delete(self, link: Link) -> None:
        """Remove a job and all its files. ValueError while it waits or runs."""
        with self._lock, self._plainly():
            self._own(link)
            folder = find_folder(self.root, link.id)
            if self.look(link.id).is_pending or is_held(folder):
                raise ValueError("a training that is waiting or running cannot be deleted: stop it first")
            shutil.rmtree(folder)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)  # of one that was killed
            self._seen.pop(link.id, None)
            self._unwritten.pop(link.id, None)

    def owns(self, link: Link) -> bool:
        """Whether this is the link of the job's owner."""
        try:
            self._own(link)
        except (NotYours, NoSuchJob, ValueError, OSError):
            return False
        return True

    def list(self) -> list[JobStatus]:
        """All jobs, the newest first; none where the folder of runs is missing or cannot be read."""
        names, views = [], []
        with suppress(OSError):
            names = os.listdir(self.root)
        for name in filter(ID.fullmatch, names):
            with suppress(NoSuchJob):
                views.append(self.look(name))
        return sorted(views, key=lambda view: view.created, reverse=True)

    def look(self, job_id: str) -> JobStatus:
        """How a job is at this moment; NoSuchJob where there is none."""
        folder = find_folder(self.root, job_id)
        with self._lock:
            state, place = self._queue.state(job_id)
            view = self._with_unwritten(self._read(folder))
        is_elsewhere = not state and view.state == INTERRUPTED and is_held(folder)
        state = RUNNING if is_elsewhere else state
        if not state:
            return view
        progress = read_progress(folder) if state in (RUNNING, STOPPING) else None
        return replace(view, state=state, place=place, progress=progress, message="", elsewhere=is_elsewhere)

    def log(self, job_id: str) -> str:
        """The end of the job's log; NoSuchJob where there is none."""
        return without_path(self.root, read_log(find_folder(self.root, job_id)))

    def close(self) -> None:
        """End the processes that train, as the end of the server would."""
        self._trainer.close()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Raise an OSError of the folder without its path."""
        try:
            yield
        except (NotYours, NoSuchJob):
            raise
        except OSError as problem:
            raise OSError(without_path(self.root, problem)) from problem

    def _own(self, link: Link) -> Record:
        record = read_record(find_folder(self.root, link.id))
        require_owner(record, link)
        return record

    def _read(self, folder: Path) -> JobStatus:
        """The job as its files describe it, which are read only where one has changed."""
        now = stamp(folder)
        known = self._seen.get(folder.name)
        if known is None or known[0] != now:
            known = self._seen[folder.name] = (now, read_job(folder))
        return known[1]

    def _with_unwritten(self, view: JobStatus) -> JobStatus:
        """The view, and how the job has ended where its folder could not take that in."""
        record = self._unwritten.get(view.id)
        if record is None or view.state != INTERRUPTED or not record.ended:
            return view
        return replace(view, state=record.ended, message=record.message)

    def _note_end(self, job_id: str, ended: str, message: str) -> None:
        """Keep how a job has ended, where its run does not say so; on a full disk for as long as this server lives."""
        with self._writes, suppress(OSError, ValueError):
            record = read_record(self.root / job_id)
            record = replace(record, ended=ended, message=without_path(self.root, message))
            self._unwritten[job_id] = record
            write_record(self.root / job_id, record)
            del self._unwritten[job_id]


def _require_training() -> None:
    if not offers_training():
        raise ValueError("training is switched off on this server")


@st.cache_resource
def job_board() -> JobBoard:
    """The trainings of this server, and those in its folder of runs."""
    return JobBoard(RUNS_ROOT, data_root=DATA_ROOT, scheduler=SCHEDULER, workers=wanted_workers())
