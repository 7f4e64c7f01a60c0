"""Many visitors at once, on all pages: is each answered, without an error, how soon, and with nobody else's pictures?

Each session speaks Streamlit's own websocket protocol. It makes a move every 5 s, along a tour of its own through the
pages: to the lab and some of the expert's sliders there, to Learn, Skin lesions, Compare, The paper, Train and Home,
with the sliders of Learn and Compare, and once it uploads a photograph. While an answer is still awaited it does
nothing, and such a move counts as missed. Waiting time: from the first message of a move to the end of the run that
it started, with all messages received, for an upload until the picture is scored; drawing is not in it. Errors:
exceptions and error boxes that a page shows, runs that fail, sliders of the lab and of Learn that change no chart,
connections that break, and answers that do not come within a minute. Each photograph has a name of its own, which is
looked for in every byte that any session gets: its own must be there, and nobody else's. So has each a training, whose
link's secret part is looked for in the same way. And sliders have to be where their visitor left them.

    python benchmarks/load.py [--sessions 30] [--seconds 180]

Server and sessions share the machine. Prints tables in Markdown; exits 1 where a target of the project is missed.
"""

import argparse
import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from background import made_training
from report import Targets, machine, markdown_table, quantile
from server import LAB_APP, Memory, running
from tours import EVERY_SECONDS, WARM_UP, Visits, attend, warm_up

PRIVATE = ("photograph", "training")
MAX_P95_SECONDS = 4.0
MIN_SHARE_MADE = 0.95
MAX_MEMORY_MIB, MAX_GROWTH = 4096, 0.05


@dataclass(frozen=True)
class Spending:
    """What the visits cost: seconds of wall time, processor seconds of the server and of the sessions, memory."""

    wall: float
    server_cpu: float
    own_cpu: float
    memory: Memory


def measure(num_sessions: int, num_moves: int) -> tuple[Visits, Spending]:
    """Run the visits against a server of their own, which one visitor, who sees all pages, has warmed up."""
    with TemporaryDirectory() as folder, running(LAB_APP, L2D_RUNS_ROOT=folder) as server:
        trainings = {place: made_training(Path(folder), place) for place in (*range(num_sessions), WARM_UP)}
        first = asyncio.run(warm_up(server.url, Path(folder), trainings))
        if first.errors:
            raise SystemExit(f"the pages do not work: {first.errors[0]}")
        cpu, own_cpu, begin = server.cpu_seconds(), time.process_time(), time.monotonic()
        with Memory(server, every_seconds=2) as memory:
            visits = asyncio.run(attend(server.url, num_sessions, num_moves, Path(folder), trainings))
        wall, used = time.monotonic() - begin, server.cpu_seconds() - cpu
    return visits, Spending(wall, used, time.process_time() - own_cpu, memory)


def report(visits: Visits, spending: Spending, num_sessions: int) -> None:
    """Print what was seen, and what it cost."""
    kinds = {**visits.moves, "**all moves**": visits.all_moves}
    rows = [
        [kind, len(values), *(f"{quantile(values, share):.2f}" for share in (0.5, 0.95, 1))]
        for kind, values in kinds.items()
        if values
    ]
    print(markdown_table(["seconds", "n", "p50", "p95", "max"], rows))
    print(f"\n{len(visits.errors)} errors; {len(visits.all_moves)} moves made, {visits.missed} missed.")
    for text, count in Counter(visits.errors).most_common(5):
        print(f"- {count} x {text[:300]}")
    for what in PRIVATE:
        own, foreign = _counts(visits, what)
        print(f"{what.capitalize()}: {own} of {num_sessions} sessions got their own, {foreign} another's.")
    print(f"Sliders found as left: {visits.settings['kept']:,}, not so: {visits.settings['changed']:,}.")
    busy, own = spending.server_cpu / spending.wall, spending.own_cpu / spending.wall
    print(f"Server: {busy:.2f} processors busy over {spending.wall:.0f} s (the sessions: {own:.2f}).", end=" ")
    first, middle, last = spending.memory.thirds()
    print(
        f"Memory: {spending.memory.before:.0f} MiB before; by thirds of the time {first:.0f}, {middle:.0f}, "
        f"{last:.0f} MiB;",
        end=" ",
    )
    print(f"at most {spending.memory.highest:.0f} MiB.")
    if visits.num_bytes:
        print(f"A move's messages: median {quantile(visits.num_bytes, 0.5) / 1000:.0f} kB.")


def _counts(visits: Visits, what: str) -> tuple[int, int]:
    """How many sessions got their own, and how many another's."""
    own = sum(kind == what for _, kind in visits.own)
    return own, len({place for place, _, kind in visits.foreign if kind == what})


def check_targets(visits: Visits, spending: Spending, num_sessions: int, num_due: int) -> None:
    """Say which targets were reached, and end the program."""
    targets, moves = Targets(), visits.all_moves
    targets.check(not visits.errors, f"{len(visits.errors)} errors, 0 wanted")
    for what in PRIVATE:
        own, foreign = _counts(visits, what)
        targets.check(not foreign, f"{foreign} sessions were sent another's {what}, 0 wanted")
        targets.check(own == num_sessions, f"{own} of {num_sessions} sessions got their own {what}")
    kept, changed = visits.settings["kept"], visits.settings["changed"]
    targets.check(kept > 0 and not changed, f"{kept:,} sliders found as left, {changed:,} not so, 0 wanted")
    made = len(moves)
    targets.check(made >= MIN_SHARE_MADE * num_due, f"{made} of {num_due} moves made, {MIN_SHARE_MADE:.0%} wanted")
    slow = quantile(moves, 0.95) if moves else float("inf")
    targets.check(slow < MAX_P95_SECONDS, f"p95 of a move {slow:.2f} s, under {MAX_P95_SECONDS:.0f} s")
    most, (_, middle, last) = spending.memory.highest, spending.memory.thirds()
    targets.check(most < MAX_MEMORY_MIB, f"memory at most {most:.0f} MiB, under {MAX_MEMORY_MIB}")
    growth = last / middle - 1
    what = f"memory grows by {growth:.1%} from the second third to the last, under {MAX_GROWTH:.0%}"
    targets.check(growth < MAX_GROWTH, what)
    targets.exit()


def main() -> None:
    """Measure, print the tables, and check the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=180)
    arguments = parser.parse_args()
    print(machine("streamlit", "torch"), flush=True)
    num_moves = max(2, int(arguments.seconds / EVERY_SECONDS))
    visits, spending = measure(arguments.sessions, num_moves)
    print(f"\n{arguments.sessions} sessions, a move every {EVERY_SECONDS:.0f} s each, for {arguments.seconds:.0f} s\n")
    report(visits, spending, arguments.sessions)
    check_targets(visits, spending, arguments.sessions, arguments.sessions * num_moves)


if __name__ == "__main__":
    main()
