"""Stored answers of a trained expert, one per case, with which a system can be trained and tested."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch

from l2d_core.common.array_files import load_arrays, save_arrays
from l2d_core.common.checks import require_known, require_range, require_shape
from l2d_core.common.paths import PROGRAM
from l2d_core.data import DeferralData, Splits

ANSWERS = "answers.npz"
ANSWERS_VERSION = 1
MAX_ANSWERS_BYTES = 64 * 1024**2
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of an expert to N cases.

    answers (N,) int64 in 0..K-1; ids (N,) text, each once; parts (N,) text, one of PARTS: on "train" the expert was
    trained, so it is right there too often. class_names K; name: the expert's.
    ValueError names what does not fit, and the row.
    """

    answers: np.ndarray
    ids: np.ndarray
    parts: np.ndarray
    class_names: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        for name in ("answers", "ids", "parts"):
            require_shape(name, getattr(self, name), (len(self.answers),))
        if not np.issubdtype(self.answers.dtype, np.integer):
            raise ValueError(f"answers must be whole numbers, got {self.answers.dtype}")
        require_range("answers", self.answers, 0, len(self.class_names) - 1, self.ids)
        for part in np.unique(self.parts):
            require_known("parts", str(part), PARTS)
        values, counts = np.unique(self.ids, return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"ids must name each case once, got {values[counts.argmax()]} {counts.max()} times")

    def save(self, path: str | os.PathLike) -> None:
        """Write an .npz without pickled objects; the file appears whole or not at all."""
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        save_arrays(path, {"format_version": np.asarray(ANSWERS_VERSION), **arrays})

    @classmethod
    def load(cls, path: str | os.PathLike) -> "StoredAnswers":
        """Read what `save` wrote. ValueError names the file where it is damaged, or of another kind or version."""
        arrays = load_arrays(path, MAX_ANSWERS_BYTES)
        wanted = [field.name for field in fields(cls)]
        missing = [name for name in ("format_version", *wanted) if name not in arrays]
        if missing:
            raise ValueError(f"{os.fspath(path)} lacks {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}")
        version = arrays["format_version"]
        if version.shape != () or version != ANSWERS_VERSION:
            raise ValueError(f"{os.fspath(path)} has format {version!s}; this version reads {ANSWERS_VERSION}")
        texts = {name: arrays[name].astype(str) for name in ("ids", "parts")}
        try:
            require_shape("answers", arrays["answers"], (None,))
            class_names = tuple(np.atleast_1d(arrays["class_names"].astype(str)).tolist())
            return cls(arrays["answers"], **texts, class_names=class_names, name=str(arrays["name"]))
        except ValueError as problem:
            raise ValueError(f"{os.fspath(path)}: {problem}") from problem


def open_answers(folder: str | os.PathLike) -> StoredAnswers:
    """The answers in the folder of a trained expert.

    folder: where it is not found from where the program was started, it is looked for in the program's own folder,
    so that "pretrained/ham10000/expert" is found from anywhere.
    FileNotFoundError where there are none; ValueError as in `StoredAnswers.load`.
    """
    path = Path(folder) / ANSWERS
    found = path if path.is_file() else PROGRAM / path
    if not found.is_file():
        raise FileNotFoundError(
            f"there is no file {path}, of a learned expert's answers; make it with: "
            f"python -m l2d_core pretrain expert --data-root DIR --out {folder}"
        )
    return StoredAnswers.load(found)


def ask(splits: Splits, stored: StoredAnswers) -> Splits:
    """The splits with the stored answers, each found by the id of its case, and with the expert's name.

    ValueError where the classes differ, where answers are missing, and where the expert was trained on cases of the
    validation or test part: its answers there would be too good. It names the first such case.
    """
    row_of = {str(name): row for row, name in enumerate(stored.ids)}
    parts = {part: _ask(getattr(splits, part), part, stored, row_of) for part in PARTS}
    return Splits(**parts)


def _ask(data: DeferralData, part: str, stored: StoredAnswers, row_of: dict[str, int]) -> DeferralData:
    if data.class_names != stored.class_names:
        raise ValueError(f"classes must be those of the expert, {stored.class_names}, got {data.class_names}")
    missing = [str(name) for name in data.ids if str(name) not in row_of]
    if missing:
        raise ValueError(f"{stored.name} has no answer to {_listed(missing)} of the {part} cases")
    rows = np.array([row_of[str(name)] for name in data.ids])
    seen = stored.ids[rows][stored.parts[rows] == "train"]
    if part != "train" and len(seen):
        raise ValueError(
            f"{stored.name} was trained on {_listed(list(map(str, seen)))} of the {part} cases, where its answers are "
            "too good: use the split that it was trained with, or train it anew"
        )
    answers = torch.from_numpy(stored.answers[rows].astype(np.int64))
    return replace(data, answers=answers[:, None], expert_names=(stored.name,))


def _listed(names: list[str]) -> str:
    return f"{len(names):,} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
