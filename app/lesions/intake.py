"""From files that came in to pictures, one after another, in memory only: nothing is written anywhere."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from l2d_core.images.archives import is_archive, open_archive, open_images
from l2d_core.images.opening import ImageProblem, OpenedImage, open_image

Picture = OpenedImage | ImageProblem


@dataclass(frozen=True)
class Source:
    """A file that came in: a key of its own, its name, and how to get its bytes. drawing: this program drew it."""

    key: str
    name: str
    read: Callable[[], bytes]
    drawing: bool = False


class Intake:
    """The files that wait, in the order in which they came; a zip counts as what is in it once it is opened."""

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
        """Forget the files with these keys, the one that is open too."""
        self._waiting = deque(source for source in self._waiting if source.key not in keys)
        if self._source is not None and self._source.key in keys:
            self._source, self._pictures, self._left = None, iter(()), 0

    def take(self) -> tuple[Source, Picture] | None:
        """The next picture, or why it cannot be read, and the file that it came in; None where nothing waits."""
        while len(self):
            if not self._left:
                self._open(self._waiting.popleft())
            source, picture = self._source, next(self._pictures, None)
            self._left -= 1
            if not self._left:
                self._source, self._pictures = None, iter(())  # lets go of a zip's bytes
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
