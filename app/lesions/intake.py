"""From uploaded files to pictures, one after another and in memory only; and a drawn example for those without one."""

import io
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from l2d_core.images.archives import is_archive, open_archive, open_images
from l2d_core.images.opening import ImageProblem, OpenedImage, open_image

Picture = OpenedImage | ImageProblem
HEIGHT, WIDTH = 450, 600
SKIN, MOLE, CORE = (222.0, 178.0, 158.0), (128.0, 82.0, 62.0), (78.0, 48.0, 42.0)


@dataclass(frozen=True)
class Source:
    """A file: a key of its own, its name, and how to read its bytes. drawing: whether this program drew it."""

    key: str
    name: str
    read: Callable[[], bytes]
    drawing: bool = False


class Intake:
    """The queue of files, first in, first out; a zip counts as the files in it once it is opened."""

    def __init__(self) -> None:
        self._waiting: deque[Source] = deque()
        self._source: Source | None = None
        self._pictures: Iterator[Picture] = iter(())
        self._left = 0  # in the file that is open

    def __len__(self) -> int:
        return self._left + len(self._waiting)

    def add(self, source: Source) -> None:
        self._waiting.append(source)

    def drop(self, keys: set[str]) -> None:
        """Forget the files with these keys, including one that is open."""
        self._waiting = deque(source for source in self._waiting if source.key not in keys)
        if self._source is not None and self._source.key in keys:
            self._source, self._pictures, self._left = None, iter(()), 0

    def take(self) -> tuple[Source, Picture] | None:
        """The next picture, or why it cannot be read, with the file it is from; None where the queue is empty."""
        while len(self):
            if not self._left:
                self._open(self._waiting.popleft())
            source, picture = self._source, next(self._pictures, None)
            self._left -= 1
            if not self._left:
                self._source, self._pictures = None, iter(())  # frees the bytes of a zip
            if source is not None and picture is not None:
                return source, picture
        return None

    def _open(self, source: Source) -> None:
        self._source = source
        self._pictures, self._left = _pictures_in(source)


def _pictures_in(source: Source) -> tuple[Iterator[Picture], int]:
    try:
        data = source.read()
        if is_archive(data):
            archive = open_archive(data, source.name)
            return open_images(archive), len(archive)
        return iter([open_image(data, source.name)]), 1
    except ImageProblem as problem:
        return iter([ImageProblem(problem.name, problem.reason)]), 1  # without a traceback, which would keep the bytes
    except OSError as problem:
        return iter([ImageProblem(source.name, f"it cannot be read: {problem.strerror or 'no such file'}")]), 1


def draw_lesion() -> bytes:
    """A PNG of 600 x 450 pixels, always the same: a brown spot with a ragged edge on skin."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    angle = np.arctan2(y - HEIGHT / 2, x - WIDTH / 2)
    radius = np.hypot(y - HEIGHT / 2, (x - WIDTH / 2) / 1.2)
    edge = 118 + 9 * np.sin(3 * angle + 1) + 5 * np.sin(7 * angle) + 3 * np.sin(13 * angle + 2)
    grain = np.random.default_rng(0).normal(size=(HEIGHT // 6, WIDTH // 6))
    texture = np.kron(grain, np.ones((6, 6)))
    spot = _ramp(edge - radius, 14)[..., None]
    core = _ramp(0.55 * edge - np.hypot(y - 205, (x - 280) / 1.2), 26)[..., None]
    pixels = np.array(SKIN) * (1 - spot) + (np.array(MOLE) * (1 - core) + np.array(CORE) * core) * spot
    pixels += 3.5 * texture[..., None] + 6 * np.sin(2 * math.pi * x / WIDTH)[..., None]
    stream = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def _ramp(distance: np.ndarray, width: float) -> np.ndarray:
    """A sigmoid from 0 outside to 1 inside an edge, over about `width` pixels."""
    return 1 / (1 + np.exp(-4 * distance / width))


DRAWING = Source("drawing", "drawing.png", draw_lesion, drawing=True)
