"""Fits that sessions share: each runs once, and is dropped when no session waits for it any more."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

POLL_SECONDS = 0.2


@dataclass
class _Flight:
    """One running or finished fit. `waiting` is written under the board's lock, `progress` by the fit's thread."""

    waiting: int = 0
    progress: float = 0.0
    result: Future = field(default_factory=Future)


class FitBoard:
    """The fits of this server by key, the latest `keep` of them.

    A fit runs in a thread of its own, which makes no call to Streamlit. `get` waits for it in the caller's thread and
    calls `on_wait` in between: where that raises (as Streamlit does to end a script run that is out of date), the
    caller leaves; when the last one has left, the fit is stopped and forgotten.
    """

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._flights: OrderedDict[Hashable, _Flight] = OrderedDict()

    def get(
        self,
        key: Hashable,
        make: Callable[[Callable[[float], bool]], Any],
        on_wait: Callable[[float], None],
        meanwhile: Callable[[], object] = lambda: None,
        *,
        is_kept: bool = True,
    ) -> Any:
        """The fit with that key, made by `make(on_progress)` of its first caller. A failed fit is retried.

        meanwhile: called before waiting. is_kept: False for a fit that nobody comes back to, such as one of a slider
        that is being dragged.
        """
        flight = self._join(key, make)
        try:
            meanwhile()
            while not wait([flight.result], timeout=POLL_SECONDS).done:
                on_wait(flight.progress)
        finally:
            self._leave(key, flight, is_kept)
        return flight.result.result()

    def _join(self, key: Hashable, make: Callable[[Callable[[float], bool]], Any]) -> _Flight:
        with self._lock:
            flight = self._flights.get(key)
            is_new = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
            self._flights.move_to_end(key)
            flight.waiting += 1
            self._forget_oldest()
        if is_new:
            threading.Thread(target=self._fly, args=(flight, make), daemon=True, name="fit").start()
        return flight

    def _leave(self, key: Hashable, flight: _Flight, is_kept: bool) -> None:
        with self._lock:
            flight.waiting -= 1
            failed = flight.result.done() and flight.result.exception() is not None
            abandoned = flight.waiting == 0 and not flight.result.done()
            passed = flight.waiting == 0 and not is_kept
            if (failed or abandoned or passed) and self._flights.get(key) is flight:
                del self._flights[key]

    def _forget_oldest(self) -> None:
        idle = [key for key, flight in self._flights.items() if flight.waiting == 0]
        for key in idle[: max(0, len(self._flights) - self._keep)]:
            del self._flights[key]

    @staticmethod
    def _fly(flight: _Flight, make: Callable[[Callable[[float], bool]], Any]) -> None:
        def on_progress(share: float) -> bool:
            flight.progress = share
            return flight.waiting > 0

        try:
            flight.result.set_result(make(on_progress))
        except BaseException as problem:  # raised again in the callers that wait
            flight.result.set_exception(problem)
