"""All hostile files that are tried, each at the door that its kind belongs to; as a script, it tries them all.

The script prints, as JSON, what was said of each file, by the library and by the command line, by how much the
memory's peak grew, and what was written outside of its working folder.
"""

import contextlib
import ctypes
import io
import json
import os
import re
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import hostile_images
import hostile_runs
import hostile_tables
from made_runs import write_run

from l2d_core.cli.commands import main
from l2d_core.comparison.author_logs import read_logged
from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores
from l2d_core.datasets.ham10000 import read_metadata
from l2d_core.images.archives import open_archive, open_images
from l2d_core.images.opening import ImageProblem, open_image
from l2d_core.lesions.expert_network import WEIGHTS, load_expert
from l2d_core.runs.folder import open_run, verify_run
from l2d_core.sweeps.plan import read_sweep
from l2d_core.training.checkpoints import load_checkpoint

COLUMNS = Columns(**hostile_tables.COLUMNS)
IMPORT = ["--label", "label", "--answers", "said", "--scores", "a", "b", "--defer", "ask", "--id", "id"]
IMPORT += ["--surrogate", "softmax", "--domain", "logits"]


@dataclass(frozen=True)
class Hostile:
    """A file, or how it is made, the door that it is brought to, and what the message says; None: it is no problem."""

    door: str
    name: str
    content: bytes | Callable[[], bytes]
    message: str | None

    @property
    def id(self) -> str:
        return f"{self.door}: {re.sub(r'[^ -~]', '?', self.name)[:40]}"


LISTS = {
    "image": hostile_images.IMAGES,
    "name": [(name, b"no image", "this is text") for name in hostile_images.NAMES],
    "zip": hostile_images.ZIPS,
    "metadata": hostile_tables.METADATA + hostile_tables.LABELLED,
    "predictions": hostile_tables.PREDICTIONS,
    "logged": hostile_tables.LOGGED,
    "config.json": hostile_runs.CONFIGS,
    "environment.json": hostile_runs.ENVIRONMENTS,
    "history.csv": hostile_runs.HISTORIES,
    "scores_test.npz": hostile_runs.SCORES,
    "model.safetensors": hostile_runs.WEIGHTS,
    "expert": hostile_runs.EXPERTS,
    "checkpoint": hostile_runs.CHECKPOINTS,
    "sweep": hostile_runs.SWEEPS,
}
FILES = [Hostile(door, *row) for door, rows in LISTS.items() for row in rows]


def _open_zip(data: bytes, name: str) -> None:
    for found in open_images(open_archive(data, name)):
        if isinstance(found, ImageProblem):
            raise found


def _make_all() -> None:
    """Write all files into made/, by their places; in a child, since making a bomb takes memory too."""
    Path("made").mkdir()
    child = os.fork()
    if child == 0:
        for number, file in enumerate(FILES):
            Path(f"made/{number}").write_bytes(file.content() if callable(file.content) else file.content)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def _place(file: Hostile, made: Path) -> Path:
    """The file as it would lie in the working folder; that of a run in a run that is otherwise good."""
    if file.door in ("image", "name", "zip"):
        return made
    if file.door.partition(".")[2]:
        target = Path("run") / file.door
    elif file.door == "expert":
        target = Path("expert") / WEIGHTS
    else:
        target = Path("ham10000" if file.door == "metadata" else "in") / file.name
    target.parent.mkdir(exist_ok=True)
    made.replace(target)
    return target


def try_library(file: Hostile, path: Path) -> None:
    """Bring a file to its door; `path` is where it lies."""
    if file.door in ("image", "name"):
        open_image(path.read_bytes(), file.name)
    elif file.door == "zip":
        _open_zip(path.read_bytes(), file.name)
    elif file.door == "metadata":
        read_metadata(path)
    elif file.door == "predictions":
        to_scores(read_predictions(path), COLUMNS, surrogate="softmax", domain="logits")
    elif file.door == "logged":
        read_logged(path, b"[1]", surrogate="one_vs_all")
    elif file.door == "expert":
        load_expert(path.parent)
    elif file.door == "checkpoint":
        load_checkpoint(path)
    elif file.door == "sweep":
        read_sweep(path)
    elif file.door in ("history.csv", "model.safetensors"):
        verify_run(path.parent)
    else:
        open_run(path.parent)


def command_of(file: Hostile, path: Path) -> list[str] | None:
    """The command that takes such a file; None where there is none."""
    if file.door == "metadata":
        return ["data", "ham10000", "."]
    if file.door == "predictions":
        return ["import", str(path), "--out", "out.npz", *IMPORT]
    if file.door == "sweep":
        return ["sweep", str(path), "--out", "sweep"]
    return ["evaluate", "run"] if path.parent.name == "run" else None


def _say(call: Callable[[], None]) -> str:
    try:
        call()
    except ValueError as problem:  # anything else ends this program, and so fails the tests
        return str(problem)
    return ""


def _run_command(command: list[str]) -> tuple[int, str]:
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        code = main(command)
    return code, error.getvalue()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _trim() -> None:
    """Give back what is free, so that one file's growth is not hidden by what another left."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def try_all() -> dict:
    """What was said of each file, by its place in FILES, in the working folder of this program."""
    write_run("run")
    good = {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()}
    Path("ham10000").mkdir()
    Path("ham10000/ISIC_1.jpg").write_bytes(hostile_images.JPEG)
    _make_all()
    found = {}
    verify_run("run")  # what is imported on the way takes memory too
    import_module("timm")
    start = _peak_mb()
    for number, file in enumerate(FILES):
        path = _place(file, Path(f"made/{number}"))
        said = _say(lambda file=file, path=path: try_library(file, path))
        command = command_of(file, path)
        code, error = _run_command(command) if command else (None, "")
        found[number] = {"said": said, "code": code, "error": error}
        path.unlink()
        if path.parent.name == "run":
            path.write_bytes(good[path.name])
        _trim()
        found[number]["peak"] = _peak_mb() - start
    return found


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    results = try_all()
    print(json.dumps(results))
