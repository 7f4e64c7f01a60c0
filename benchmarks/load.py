"""Many visitors of the live lab at once: is every slider move answered, without an error, and how soon?

Each session opens the lab (HAM10000) over Streamlit's own websocket protocol, and from then on moves one of the
expert's sliders, chosen at random, to a random place every 5 s; while an answer is still awaited it moves nothing,
and such a move counts as missed. Waiting time of a move: from its message to the end of the run that it started, with
all messages received; drawing is not in it. Errors: exceptions and error boxes that the page shows, runs that fail or
change no chart, connections that break, and answers that do not come within a minute.

    python benchmarks/load.py [--sessions 30] [--seconds 60]

Server and sessions share the machine. Prints a table in Markdown; exits 1 where a target of the project is missed.
"""

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, running
from session import Answer, Session, Slider
from websockets.exceptions import WebSocketException

EVERY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
MAX_P95_SECONDS = 4.0
MIN_SHARE_MADE = 0.95
T = TypeVar("T")


@dataclass
class Visits:
    """What all sessions saw; times in seconds. missed: moves that were due while the one before was unanswered."""

    openings: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    num_bytes: list[int] = field(default_factory=list)
    missed: int = 0
    errors: list[str] = field(default_factory=list)


async def attend(url: str, num_sessions: int, num_moves: int) -> Visits:
    """All sessions open the page at once; when all have it, they move their sliders, evenly staggered."""
    visits = Visits()
    opened = await asyncio.gather(*(_guarded(_open(url, visits), visits) for _ in range(num_sessions)))
    start = time.monotonic()
    loops = []
    for place, (session, answer) in enumerate(filter(None, opened)):
        first = start + 0.1 + EVERY_SECONDS * place / num_sessions
        loops.append(_move_on(session, answer, random.Random(place), first, num_moves, visits))
    await asyncio.gather(*(_guarded(loop, visits) for loop in loops))
    return visits


async def _open(url: str, visits: Visits) -> tuple[Session, Answer]:
    begin = time.monotonic()
    session = await Session.open(url, "lab")
    answer = await asyncio.wait_for(session.run(), PATIENCE_SECONDS)
    visits.openings.append(time.monotonic() - begin)
    visits.errors += answer.errors
    return session, answer


async def _move_on(
    session: Session, before: Answer, generator: random.Random, first: float, num_moves: int, visits: Visits
) -> None:
    if not before.sliders:
        raise ValueError("the page shows no slider")
    for place in range(num_moves):
        due = first + EVERY_SECONDS * place
        if time.monotonic() > due:
            visits.missed += 1
            continue
        await asyncio.sleep(due - time.monotonic())
        move = _choose_move(session, before, generator)
        begin = time.monotonic()
        after = await asyncio.wait_for(session.run(move), PATIENCE_SECONDS)
        visits.moves.append(time.monotonic() - begin)
        visits.num_bytes.append(after.num_bytes)
        visits.errors += after.errors + unchanged_charts(before, after)
        before = after
    await session.close()


def _choose_move(session: Session, page: Answer, generator: random.Random) -> dict[Slider, float]:
    """One of the expert's sliders, those from 0 to 100, and a place where it does not stand."""
    slider = generator.choice([one for one in page.sliders.values() if (one.low, one.high) == (0, 100)])
    return {slider: float(generator.choice([value for value in range(101) if value != session.value_of(slider)]))}


def unchanged_charts(before: Answer, after: Answer) -> list[str]:
    """An error where a move left out a chart, or did not change any."""
    if not after.charts or before.charts.keys() != after.charts.keys():
        return [f"charts at {sorted(before.charts)} became charts at {sorted(after.charts)}"]
    return [] if after.charts != before.charts else ["a move changed no chart"]


async def _guarded(visit: Coroutine[Any, Any, T], visits: Visits) -> T | None:
    """The visit's result; a connection that breaks or an answer that does not come is an error of it alone."""
    try:
        return await visit
    except (OSError, ValueError, WebSocketException, TimeoutError) as problem:
        visits.errors.append(f"{type(problem).__name__}: {problem}")
        return None


def _rows(visits: Visits) -> list[list[object]]:
    columns = {"opening the page, all at once": visits.openings, "**a slider move**": visits.moves}
    return [
        [name, len(values), *(f"{quantile(values, share):.2f}" for share in (0.5, 0.95, 1))]
        for name, values in columns.items()
        if values
    ]


@dataclass(frozen=True)
class Spending:
    """What the visits cost: seconds of wall time, processor seconds of the server and of the sessions, memory."""

    wall: float
    server_cpu: float
    own_cpu: float
    memory_before: float
    memory_after: float


def measure(num_sessions: int, num_moves: int) -> tuple[Visits, Spending]:
    """Run the visits against a server of their own, which one visitor has warmed up."""
    with running(LAB_APP) as server:
        warm_up = asyncio.run(attend(server.url, 1, 1))
        if warm_up.errors:
            raise SystemExit(f"the page does not work: {warm_up.errors[0]}")
        memory, cpu, own_cpu, begin = server.memory_mib(), server.cpu_seconds(), time.process_time(), time.monotonic()
        visits = asyncio.run(attend(server.url, num_sessions, num_moves))
        spending = Spending(
            time.monotonic() - begin,
            server.cpu_seconds() - cpu,
            time.process_time() - own_cpu,
            memory,
            server.memory_mib(),
        )
    return visits, spending


def report(visits: Visits, spending: Spending) -> None:
    """Print what was seen, and what it cost."""
    print(markdown_table(["seconds", "n", "p50", "p95", "max"], _rows(visits)))
    print(f"\n{len(visits.errors)} errors; {len(visits.moves)} moves made, {visits.missed} missed.")
    for text, count in Counter(visits.errors).most_common(5):
        print(f"- {count} x {text[:300]}")
    busy, own = spending.server_cpu / spending.wall, spending.own_cpu / spending.wall
    print(f"Server: {busy:.2f} processors busy over {spending.wall:.0f} s (the sessions: {own:.2f}),", end=" ")
    print(f"{spending.memory_before:.0f} MiB before and {spending.memory_after:.0f} MiB after.")
    if visits.num_bytes:
        print(f"A move's messages: median {quantile(visits.num_bytes, 0.5) / 1000:.0f} kB.")


def main() -> None:
    """Measure, print the table, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    print(machine("streamlit", "torch"), flush=True)
    num_moves = max(1, int(arguments.seconds / EVERY_SECONDS))
    visits, spending = measure(arguments.sessions, num_moves)
    print(f"\n{arguments.sessions} sessions, a move every {EVERY_SECONDS:.0f} s each, for {arguments.seconds:.0f} s\n")
    report(visits, spending)
    _check_targets(visits, arguments.sessions * num_moves)


def _check_targets(visits: Visits, num_due: int) -> None:
    targets = Targets()
    targets.check(not visits.errors, f"{len(visits.errors)} errors, 0 wanted")
    made = len(visits.moves)
    targets.check(made >= MIN_SHARE_MADE * num_due, f"{made} of {num_due} moves made, {MIN_SHARE_MADE:.0%} wanted")
    slow = quantile(visits.moves, 0.95) if visits.moves else float("inf")
    targets.check(slow < MAX_P95_SECONDS, f"p95 of a move {slow:.2f} s, under {MAX_P95_SECONDS:.0f} s")
    targets.exit()


if __name__ == "__main__":
    main()
