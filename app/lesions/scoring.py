"""Opening and scoring a session's pictures, in short turns between which other sessions get theirs."""

import io
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from PIL import Image

from app.lesions.intake import Intake, Source
from app.lesions.patients import unknown_of
from app.lesions.state import Case, Entry, LesionSession
from l2d_core.images.opening import ImageProblem, OpenedImage, fitted_size, to_model_size
from l2d_core.lesions.networks import BATCH_SIZE, to_input
from l2d_core.lesions.system import LesionScores, LesionSystem, ask_expert, score_images

MAX_ENTRIES = 5_000
# As many as 5,000 photographs of 1,000 x 800; a file of a kilobyte may hold 25 million pixels, and take a second.
MAX_SESSION_PIXELS = 4_000_000_000
# Limits of one turn, so that no session waits long: files, including copies and broken ones, and pixels.
MAX_TURN_FILES, MAX_TURN_PIXELS = 64, 50_000_000
THUMBNAIL = (96, 72)
# One session at a time opens pictures: each may take 75 MB while open, and two at once would not be faster.
_TURN = threading.Lock()


def score_batch(session: LesionSession, system: LesionSystem) -> None:
    """Open and score the next pictures in the queue, at most 16 new ones; fewer where they are large."""
    entries: list[Entry] = []
    fresh: dict[str, _Opened] = {}
    last = session.pixels + MAX_TURN_PIXELS
    with _TURN:
        while len(fresh) < BATCH_SIZE and len(entries) < MAX_TURN_FILES and session.pixels < last:
            taken = session.intake.take()
            if taken is None:
                break
            source, picture = taken
            entries.append(_entry(source, picture, f"picture-{session.received}"))
            session.received += 1
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
    """An opened picture as the page keeps it: the inputs of the networks, a view, a thumbnail and warnings."""

    image: torch.Tensor
    expert_image: torch.Tensor
    view: bytes
    thumbnail: bytes
    warnings: tuple[str, ...]


def _entry(source: Source, picture: OpenedImage | ImageProblem, identity: str) -> Entry:
    if isinstance(picture, ImageProblem):
        return Entry(identity, source.key, picture.name, "", picture.reason, (), source.drawing)
    width, height = picture.original_size
    notes = (f"{picture.format}, {width:,} x {height:,} pixels", *picture.notes)
    return Entry(identity, source.key, picture.name, picture.digest, "", notes, source.drawing)


def _prepare(picture: OpenedImage, system: LesionSystem) -> _Opened:
    height, width = system.image_size
    framed = to_model_size(picture.pixels, height, width)
    warnings = picture.warnings
    if fitted_size(*picture.pixels.shape[:2], height, width) != (height, width):
        warnings = (
            *warnings,
            f"another shape than the training images ({width}:{height}): bars were added at its sides",
        )
    expert_image = to_input(picture.pixels, system.expert.image_size)
    view = Image.fromarray(framed)
    small = view.resize(THUMBNAIL, Image.Resampling.BOX)
    return _Opened(to_input(framed, system.image_size), expert_image, _jpeg(view, 88), _jpeg(small, 70), warnings)


def _jpeg(image: Image.Image, quality: int) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def _score(opened: Sequence[_Opened], system: LesionSystem) -> list[Case]:
    if not opened:
        return []
    images, expert_images = (torch.stack([getattr(one, name) for one in opened]) for name in ("image", "expert_image"))
    scores = score_images(system, images, expert_images)
    cases = []
    for row, one in enumerate(opened):
        part = scores.subset([row])
        unlike = bool(part.distance[0] > system.detector.limit)
        cases.append(Case(one.view, system.image_size, one.thumbnail, one.warnings, unlike, part))
    return cases


def scores_of(cases: Sequence[Case]) -> LesionScores:
    """The scores of at least one case, one after another."""
    return LesionScores.concatenate([case.scores for case in cases])


def expert_answers(session: LesionSession, system: LesionSystem) -> dict[str, int]:
    """Entry's id -> the expert network's class, for the entries whose age, sex and site are known.

    Two files may hold the same picture under the names of two people: each gets an answer of its own.
    """
    if session.patients is None:
        return {}
    patients = {entry.id: session.patients.of(entry.name) for entry in session.entries if entry.digest}
    known = {name: row for name, row in patients.items() if not unknown_of(row)}
    if not known:
        return {}
    digests = {entry.id: entry.digest for entry in session.entries}
    features = scores_of([session.cases[digests[name]] for name in known]).expert_features
    answers = ask_expert(system, features, pd.DataFrame(list(known.values())))
    return dict(zip(known, answers.tolist(), strict=True))
