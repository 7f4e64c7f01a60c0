"""Visitors that go round all pages without a browser, each on its own tour, with its own photograph and training."""

import asyncio
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from session import Answer, Session, Slider
from uploads import photograph
from websockets.exceptions import WebSocketException

EVERY_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
UPLOAD = "Images, or a zip of images"
NAME = re.compile(rb"visitor-(\d{4})-photograph")
# Moves along the tour: the path of a page to turn to, or what to do on it.
_LAB = ("lab", "lab slider", "lab slider", "lab slider", "lab slider")
_COMPARE = ("compare", "compare slider", "compare slider")
TOUR = (*_LAB, "learn", "lesions", "upload", *_COMPARE, "paper", "train", "", " slider")
PAGES = ("", "learn", "lab", "lesions", "compare", "paper", "train")
TITLES = {page: f"to {page.capitalize() or 'Home'}" for page in PAGES}
COMPARE_SLIDERS = ("Cost of asking the expert", "Budget: cases that may be asked")


@dataclass
class Visits:
    """What all sessions saw. moves: seconds by kind; missed: moves that were due while one was unanswered.

    foreign: (session, whose, what) that a session was sent though it is another's; own: (session, what) that got
    theirs; what: "photograph" or "training", by the secret part of its link. settings: how many sliders were found
    where their own visitor had left them, "kept", and how many were not, "changed".
    """

    moves: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    num_bytes: list[int] = field(default_factory=list)
    missed: int = 0
    errors: list[str] = field(default_factory=list)
    foreign: set[tuple[int, int, str]] = field(default_factory=set)
    own: set[tuple[int, str]] = field(default_factory=set)
    settings: Counter[str] = field(default_factory=Counter)

    @property
    def all_moves(self) -> list[float]:
        """Without the first opening, which all do at once."""
        return [seconds for kind, times in self.moves.items() if kind != OPENING for seconds in times]


WARM_UP = 9999  # the place of the one who comes first
OPENING = "opening a page, all at once"


def plan(place: int, count: int) -> list[str]:
    """The moves of a session: the tour from a place of its own on, with one upload, whatever their number."""
    start = [at for at, name in enumerate(TOUR) if name in PAGES][place % len(PAGES)]
    moves, is_uploaded = [], False
    for at in range(start + 1, start + 1 + count):
        name = TOUR[at % len(TOUR)]
        if name == "upload" and is_uploaded:
            name = "lesions"
        is_uploaded = is_uploaded or name == "upload"
        moves.append(name)
    return [TOUR[start], *(moves if is_uploaded else [*moves[:-2], "lesions", "upload"])]


@dataclass
class Visitor:
    """One session on its tour. trainings: the links of all visitors' trainings; page: what is on its page now."""

    place: int
    session: Session
    visits: Visits
    photograph: bytes
    trainings: Mapping[int, str]
    page: Answer = field(default_factory=Answer)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.place)
        self._left: dict[tuple[str, str], float] = {}  # page and label of a slider -> where it was left
        self._secrets = {link.partition(".")[2].encode(): whose for whose, link in self.trainings.items()}
        self._secret = re.compile(b"|".join(map(re.escape, self._secrets)))
        self.session.heard = self._listen

    def _listen(self, data: bytes) -> None:
        for number in NAME.findall(data):
            self._note(int(number), "photograph")
        for secret in self._secret.findall(data):
            self._note(self._secrets[secret], "training")

    def _note(self, whose: int, what: str) -> None:
        if whose == self.place:
            self.visits.own.add((self.place, what))
        else:
            self.visits.foreign.add((self.place, whose, what))

    async def make(self, move: str, kind: str) -> None:
        """Make a move, and note how long it took and what went wrong."""
        begin, before = time.monotonic(), self.page
        charts = dict(before.charts)
        answer = await asyncio.wait_for(self._start(move), PATIENCE_SECONDS)
        self.visits.moves[kind].append(time.monotonic() - begin)
        self.visits.num_bytes.append(answer.num_bytes)
        self.visits.errors += [f"{kind}: {text}" for text in answer.errors]
        if move in ("lab slider", " slider") and answer.charts == charts:
            self.visits.errors.append(f"{kind}: a move changed no chart")
        if move.endswith("slider") and not answer.charts:
            self.visits.errors.append(f"{kind}: there is no chart")
        if move.endswith("slider"):
            before.join(answer)  # a part of the page may have been drawn anew, or all of it
        else:
            self.page = answer
        self._look_at_settings()

    def _look_at_settings(self) -> None:
        """Are the sliders that this visitor has moved where it left them?"""
        for label, slider in self.page.sliders.items():
            left = self._left.get((self.session.page, label))
            if left is not None:
                self.visits.settings["kept" if self.session.value_of(slider) == left else "changed"] += 1

    async def _start(self, move: str) -> Answer:
        if move == "upload":
            return await self.session.upload(
                self.page, UPLOAD, f"visitor-{self.place:04}-photograph.jpg", self.photograph
            )
        if move.endswith("slider"):
            moved = self._choose(move.partition(" ")[0])
            labels = {slider: label for label, slider in self.page.sliders.items()}
            self._left |= {(self.session.page, labels[slider]): value for slider, value in moved.items()}
            return await self.session.run(moved)
        return await self.session.go(move, f"job={self.trainings[self.place]}" if move == "train" else "")

    def _choose(self, page: str) -> dict[Slider, float]:
        """A slider, and a place where it does not stand: in the lab one of the expert's, those from 0 to 100."""
        sliders = [one for name, one in self.page.sliders.items() if page != "compare" or name in COMPARE_SLIDERS]
        if page == "lab":
            sliders = [one for one in sliders if (one.low, one.high) == (0, 100)]
        if not sliders:
            raise ValueError(f"the page {page} shows no slider")
        slider = self._chance.choice(sliders)
        places = [
            slider.low + step * slider.step for step in range(round((slider.high - slider.low) / slider.step) + 1)
        ]
        return {slider: self._chance.choice([one for one in places if one != self.session.value_of(slider)])}

    async def tour(self, moves: Sequence[str], first: float) -> None:
        """Make the moves, each when it is due; `first`: when the first is."""
        for number, move in enumerate(moves):
            due = first + EVERY_SECONDS * number
            if (
                time.monotonic() > due and move != "upload"
            ):  # what comes after a page that was missed has to be left out
                self.visits.missed += 1
                continue
            await asyncio.sleep(due - time.monotonic())
            if not self._can(move):
                self.visits.missed += 1
                continue
            await self.make(move, TITLES.get(move, move))
        await self.session.close()

    def _can(self, move: str) -> bool:
        """Whether the page that the move is made on is there: the turn to it may have been missed."""
        return move in PAGES or self.session.page == ("lesions" if move == "upload" else move.partition(" ")[0])


async def attend(url: str, num_sessions: int, num_moves: int, folder: Path, trainings: Mapping[int, str]) -> Visits:
    """All sessions open a page at once; when all have theirs, they go on their tours, evenly staggered.

    trainings: place of a session -> the link of its training.
    """
    visits = Visits()
    plans = [plan(place, num_moves) for place in range(num_sessions)]
    pictures = [photograph(folder, place).read_bytes() for place in range(num_sessions)]
    opened = await asyncio.gather(
        *(
            _guarded(_open(url, place, plans[place][0], pictures[place], visits, trainings), visits)
            for place in range(num_sessions)
        )
    )
    start = time.monotonic() + 0.1
    tours = [
        visitor.tour(plans[visitor.place][1:], start + EVERY_SECONDS * visitor.place / num_sessions)
        for visitor in opened
        if visitor is not None
    ]
    await asyncio.gather(*(_guarded(tour, visits) for tour in tours))
    return visits


async def _open(
    url: str, place: int, page: str, picture: bytes, visits: Visits, trainings: Mapping[int, str]
) -> Visitor:
    begin = time.monotonic()
    query = f"job={trainings[place]}" if page == "train" else ""
    visitor = Visitor(place, await Session.open(url, page, query), visits, picture, trainings)
    visitor.page = await asyncio.wait_for(visitor.session.run(), PATIENCE_SECONDS)
    visits.moves[OPENING].append(time.monotonic() - begin)
    visits.errors += visitor.page.errors
    return visitor


async def _guarded(visit: Coroutine[Any, Any, Any], visits: Visits) -> Any:
    """The visit's result; a connection that breaks or an answer that does not come is an error of it alone."""
    try:
        return await visit
    except (OSError, ValueError, KeyError, WebSocketException, TimeoutError) as problem:
        visits.errors.append(f"{type(problem).__name__}: {problem}")
        return None


async def warm_up(url: str, folder: Path, trainings: Mapping[int, str]) -> Visits:
    """One visitor, once through the tour without a pause; the networks of Skin lesions are loaded on the way."""
    visits = Visits()
    picture = photograph(folder, WARM_UP).read_bytes()
    visitor = Visitor(WARM_UP, await Session.open(url, ""), visits, picture, trainings)
    visitor.page = await visitor.session.run()
    visits.errors += visitor.page.errors
    for move in TOUR:
        await visitor.make(move, TITLES.get(move, move))
    await visitor.session.close()
    return visits
