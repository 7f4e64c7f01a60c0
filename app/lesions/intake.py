"""From uploaded files to pictures, one after another and in memory only; and a drawn example for those without one."""

import io
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PIL import Image

from l2d_core.images.archives import is_archive, open_archive, open_images
from l2d_core.images.opening import ImageProblem, OpenedImage, open_image
from l2d_core.lesions.strangers import drawn_lesion

Picture = OpenedImage | ImageProblem


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
    """A PNG of 600 x 450 pixels, always the same: a brown spot on skin."""
    stream = io.BytesIO()
    Image.fromarray(drawn_lesion()).save(stream, "PNG")
    return stream.getvalue()


DRAWING = Source("drawing", "drawing.png", draw_lesion, drawing=True)
