"""The queue of trainings: in which phase each one is, and whose turn is next."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.jobs.states import QUEUED, RUNNING, STARTING, STOPPED, STOPPING

MAX_PENDING, MAX_PER_SESSION = 64, 12
WAITING, HANDED_OVER, ENDED = "waiting", "handed over", "ended"
IN_HAND = (HANDED_OVER, RUNNING, STOPPING)
# Phase -> the phases that may follow. An answer of the cluster that comes late or twice asks for another move, and is
# ignored.
MOVES = {
    WAITING: (HANDED_OVER, ENDED),
    HANDED_OVER: (RUNNING, STOPPING, WAITING, ENDED),
    RUNNING: (STOPPING, WAITING, ENDED),
    STOPPING: (ENDED,),
    ENDED: (),
}


@dataclass(eq=False)
class Entry:
    """A training in the queue; only `JobQueue.move` changes its phase and handle.

    session: who handed it in. turn: its round, as in `JobQueue`. handle: the run on the cluster, while it is in hand.
    since: when it entered its phase, by the monotonic clock. losses: how often it was lost by a fault of this program
    or of the cluster without an epoch in between; history_bytes: the size of its history at the last loss.
    """

    job_id: str
    session: str
    turn: int
    phase: str = WAITING
    handle: Any = None
    since: float = field(default_factory=time.monotonic)
    losses: int = 0
    history_bytes: int = 0


class JobQueue:
    """Trainings by id, until they end. All methods may be called from any thread.

    Sessions take turns: the first training of each session belongs to round 0, the second to round 1, and so on; who
    comes later begins in the round after the one that is being served. Within a round the order is that of arrival.

    on_end: called with (id, how, message) when a training leaves the queue; how: "stopped", "failed" or "".
    places: how many trainings run at once.
    """

    def __init__(self, on_end: Callable[[str, str, str], None], places: int = 1) -> None:
        self.places = places
        self._on_end = on_end
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._next_round = 0

    def __len__(self) -> int:
        return len(self._entries)

    def require_room(self, session: str) -> None:
        """ValueError where the session, or all sessions together, have too many trainings in the queue."""
        with self._lock:
            own = sum(entry.session == session for entry in self._entries.values())
            if own >= MAX_PER_SESSION:
                raise ValueError(
                    f"{MAX_PER_SESSION} trainings of yours are waiting or running, the most allowed at once: wait "
                    "until one has ended, or stop one"
                )
            if len(self) >= MAX_PENDING:
                raise ValueError(f"{MAX_PENDING} trainings are waiting or running: wait until some have ended")

    def add(self, job_id: str, session: str) -> None:
        """Queue a training; one that is queued already keeps its place. ValueError as in `require_room`."""
        with self._lock:
            if job_id not in self._entries:
                self.require_room(session)
                own = [entry.turn + 1 for entry in self._entries.values() if entry.session == session]
                self._entries[job_id] = Entry(job_id, session, max([self._next_round, *own]))

    def move(self, entry: Entry, phase: str, *, handle: Any = None, how: str = "", message: str = "") -> bool:
        """Bring a training into another phase; False, and nothing happens, where it cannot follow its own.

        handle: of one that is handed over. how, message: for `on_end`.
        """
        with self._lock:
            if phase not in MOVES[entry.phase]:
                return False
            if phase == ENDED:
                self._tell_end(entry, how, message)  # first: until then its folder says that it was interrupted
                del self._entries[entry.job_id]
            if phase == HANDED_OVER:
                self._next_round = max(self._next_round, entry.turn + 1)
            if phase in (HANDED_OVER, WAITING):
                entry.handle = handle
            entry.phase, entry.since = phase, time.monotonic()
            return True

    def _tell_end(self, entry: Entry, how: str, message: str) -> None:
        try:
            self._on_end(entry.job_id, how, message)
        except Exception:  # the queue goes on without it
            logging.getLogger(__name__).exception("the end of training %s was not noted", entry.job_id)

    def take_back(self, job_id: str) -> Entry | None:
        """End a training that waits, or give the one in hand, which is in the phase "stopping" from now on."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or (entry.phase == WAITING and self.move(entry, ENDED, how=STOPPED)):
                return None
            return entry if self.move(entry, STOPPING) else None

    def entries(self, *phases: str) -> list[Entry]:
        """The trainings in these phases, or all."""
        with self._lock:
            return [entry for entry in self._entries.values() if not phases or entry.phase in phases]

    def next_up(self) -> list[Entry]:
        """The trainings whose turn it is: as many as there are free places."""
        with self._lock:
            return self._in_order()[: self._free_places()]

    def state(self, job_id: str) -> tuple[str, int]:
        """The state of a training and its place among those that wait, from 1; ("", 0) for one that is not queued."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None:
                return "", 0
            if entry.phase != WAITING:
                return (STARTING if entry.phase == HANDED_OVER else entry.phase), 0
            place = max(0, self._in_order().index(entry) + 1 - self._free_places())
            return QUEUED if place else STARTING, place

    def _in_order(self) -> list[Entry]:
        return sorted(self.entries(WAITING), key=lambda entry: entry.turn)

    def _free_places(self) -> int:
        return max(0, self.places - len(self.entries(*IN_HAND)))
