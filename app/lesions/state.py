"""What one session knows of its pictures: small views and numbers, never the files themselves."""

import io
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from PIL import Image

from app.lesions.intake import Intake, Source
from app.lesions.patients import Patients, unknown_of
from l2d_core.images.opening import ImageProblem, OpenedImage, fitted_size, to_model_size
from l2d_core.lesions.bank import FAR
from l2d_core.lesions.networks import BATCH_SIZE, to_input
from l2d_core.lesions.system import LesionSystem, Seen, ask_expert, look_at

MAX_ENTRIES = 5_000
# As many as 5,000 photographs of 1,000 x 800; a file of a kilobyte may have 25 million, and take a second.
MAX_SESSION_PIXELS = 4_000_000_000
# In one turn, so that nobody has to wait long for theirs: of files, doubles and broken ones too, and of pixels.
MAX_TURN_FILES, MAX_TURN_PIXELS = 64, 50_000_000
UNLIKE = f"not like the training images: farther from the nearest one than {FAR:.0%} of the test images".replace(
    "%", " %"
)
# One session opens pictures at a time: each may take 75 MB while it is open, and two would not be faster.
_TURN = threading.Lock()


@dataclass(frozen=True)
class Case:
    """A picture that was scored. view: what the model sees, as JPEG, and its size; seen: of this one picture."""

    view: bytes
    size: tuple[int, int]
    warnings: tuple[str, ...]
    seen: Seen


@dataclass(frozen=True)
class Entry:
    """A file's picture. key: of the file; digest: of its content, "" where it could not be read, for the reason given.

    notes: what was converted; drawing: it was drawn by this program.
    """

    key: str
    name: str
    digest: str
    reason: str
    notes: tuple[str, ...]
    drawing: bool


@dataclass
class LesionSession:
    """Changed by its own session alone. entries in the order of upload; cases by digest, each scored once.

    taken: the keys of all files that came in; in_widget: of those that the upload field held last; uploads: by
    which Streamlit knows all uploads; uploaded: the table that was uploaded, beside: those that lie beside images
    of the server; pixels: of all pictures that were opened; left_out: pictures beyond MAX_ENTRIES or
    MAX_SESSION_PIXELS; generation: grows with each "clear".
    """

    generation: int = 0
    entries: list[Entry] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)
    intake: Intake = field(default_factory=Intake)
    taken: set[str] = field(default_factory=set)
    in_widget: set[str] = field(default_factory=set)
    uploads: set[str] = field(default_factory=set)
    uploaded: Patients | None = None
    beside: Patients | None = None
    pixels: int = 0
    left_out: int = 0

    @property
    def patients(self) -> Patients | None:
        """The table that counts: the uploaded one, before what lies beside images of the server."""
        return self.uploaded or self.beside

    def add(self, source: Source) -> None:
        """Let a file wait to be scored, once."""
        if source.key not in self.taken:
            self.taken.add(source.key)
            self.intake.add(source)

    def drop(self, keys: set[str]) -> None:
        """Forget these files, and the pictures that no other file holds."""
        self.intake.drop(keys)
        self.taken -= keys
        self.entries = [entry for entry in self.entries if entry.key not in keys]
        kept = {entry.digest for entry in self.entries}
        self.cases = {digest: case for digest, case in self.cases.items() if digest in kept}

    def first_entries(self) -> list[Entry]:
        """The entries that were scored, each picture once."""
        firsts: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.digest:
                firsts.setdefault(entry.digest, entry)
        return list(firsts.values())


def score_batch(session: LesionSession, system: LesionSystem) -> None:
    """Open and score the next pictures that wait, at most 16 that are new; fewer where they are large."""
    entries: list[Entry] = []
    fresh: dict[str, _Opened] = {}
    last = session.pixels + MAX_TURN_PIXELS
    with _TURN:
        while len(fresh) < BATCH_SIZE and len(entries) < MAX_TURN_FILES and session.pixels < last:
            taken = session.intake.take()
            if taken is None:
                break
            source, picture = taken
            entries.append(_entry(source, picture))
            if isinstance(picture, OpenedImage):
                session.pixels += math.prod(picture.original_size)
                if picture.digest not in session.cases and picture.digest not in fresh:
                    fresh[picture.digest] = _prepare(picture, system)
            del picture  # before the next one is opened
        cases = _score(list(fresh.values()), system)
    session.cases.update(zip(fresh, cases, strict=True))
    room = MAX_ENTRIES - len(session.entries)
    session.entries.extend(entries[:room])
    session.left_out += len(entries[room:])
    if session.left_out or session.pixels > MAX_SESSION_PIXELS:
        session.left_out += len(session.intake)
        session.intake = Intake()


@dataclass(frozen=True)
class _Opened:
    """All that is kept of an open picture: as the networks take it."""

    image: torch.Tensor
    expert_image: torch.Tensor
    view: bytes
    warnings: tuple[str, ...]


def _entry(source: Source, picture: OpenedImage | ImageProblem) -> Entry:
    if isinstance(picture, ImageProblem):
        return Entry(source.key, picture.name, "", picture.reason, (), source.drawing)
    width, height = picture.original_size
    notes = (f"{picture.format}, {width:,} x {height:,} pixels", *picture.notes)
    return Entry(source.key, picture.name, picture.digest, "", notes, source.drawing)


def _prepare(picture: OpenedImage, system: LesionSystem) -> _Opened:
    height, width = system.image_size
    framed = to_model_size(picture.pixels, height, width)
    stream = io.BytesIO()
    Image.fromarray(framed).save(stream, "JPEG", quality=88)
    warnings = picture.warnings
    if fitted_size(*picture.pixels.shape[:2], height, width) != (height, width):
        warnings = (
            *warnings,
            f"another shape than the training images ({width}:{height}): bars were added at its sides",
        )
    expert_image = to_input(picture.pixels, system.expert.image_size)
    return _Opened(to_input(framed, system.image_size), expert_image, stream.getvalue(), warnings)


def _score(opened: Sequence[_Opened], system: LesionSystem) -> list[Case]:
    if not opened:
        return []
    seen = look_at(system, *(torch.stack([getattr(one, name) for one in opened]) for name in ("image", "expert_image")))
    cases = []
    for row, one in enumerate(opened):
        part = pick(seen, [row])
        far = part.distance[0] > system.bank.far
        cases.append(Case(one.view, system.image_size, (*one.warnings, *([UNLIKE] if far else [])), part))
    return cases


def pick(seen: Seen, rows: Sequence[int]) -> Seen:
    """What was seen of these pictures."""
    logits = {name: values[rows].copy() for name, values in seen.logits.items()}
    return Seen(logits, *(getattr(seen, name)[rows].copy() for name in ("features", "distance", "expert_features")))


def join(cases: Sequence[Case]) -> Seen:
    """What was seen of at least one case, one after another."""
    parts = [case.seen for case in cases]
    logits = {name: np.concatenate([part.logits[name] for part in parts]) for name in parts[0].logits}
    names = ("features", "distance", "expert_features")
    return Seen(logits, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def expert_answers(session: LesionSession, system: LesionSystem) -> dict[str, int]:
    """Key -> the class that the expert network names, of the entries whose age, sex and site are known.

    Two files may hold one picture of, so their names say, two people: each is answered for its own.
    """
    if session.patients is None:
        return {}
    patients = {entry.key: session.patients.of(entry.name) for entry in session.entries if entry.digest}
    known = {key: row for key, row in patients.items() if not unknown_of(row)}
    if not known:
        return {}
    digests = {entry.key: entry.digest for entry in session.entries}
    features = join([session.cases[digests[key]] for key in known]).expert_features
    answers = ask_expert(system, features, pd.DataFrame(list(known.values())))
    return dict(zip(known, answers.tolist(), strict=True))
