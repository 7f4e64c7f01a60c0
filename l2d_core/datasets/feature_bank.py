"""A feature bank: a frozen network's features of each case of a data set, small enough to ship."""

import os
from dataclasses import dataclass, fields
from io import IOBase
from pathlib import Path

import numpy as np

from l2d_core.common.array_files import load_arrays, save_arrays
from l2d_core.common.checks import require_finite, require_known, require_range, require_shape
from l2d_core.common.paths import PRETRAINED

BANK_VERSION = 1
MAX_BANK_BYTES = 256 * 1024**2
BANKS = ("cifar10", "ham10000", "hate_speech", "galaxy_zoo")
PARTS = ("train", "test", "")
FOLDER = PRETRAINED / "features"


@dataclass(frozen=True)
class FeatureBank:
    """Features of N cases, usually images, with all that is needed to split and label them.

    features (N, D) float16, of size about 1; labels (N,) in 0..K-1; ids (N,) text, each once; groups (N,) text:
    cases of one group (such as one lesion) must stay in one part; parts (N,) text: "train" or "test" as
    published, "" where the publisher gives no split; class_names K.
    name, licence, source: of the data set. votes (N, K): how many people named each class, or their shares; None
    where nobody voted. ValueError names the argument and the row.
    """

    features: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    groups: np.ndarray
    parts: np.ndarray
    class_names: tuple[str, ...]
    name: str
    licence: str
    source: str
    votes: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_shape("features", self.features, (None, None))
        if self.features.size == 0:
            raise ValueError(f"features must hold at least one image and one column, got {self.features.shape}")
        if self.features.dtype != np.float16:
            raise ValueError(f"features must be float16, got {self.features.dtype}")
        for name in ("ids", "groups", "parts"):
            self._check_text(name)
        self._check_ids_and_parts()
        require_finite("features", self.features, self.ids)
        require_shape("labels", self.labels, (len(self),))
        if not np.issubdtype(self.labels.dtype, np.integer):
            raise ValueError(f"labels must be whole numbers, got {self.labels.dtype}")
        require_range("labels", self.labels, 0, len(self.class_names) - 1, self.ids)
        if self.votes is not None:
            require_shape("votes", self.votes, (len(self), len(self.class_names)))
            require_range("votes", self.votes, 0, np.inf, self.ids)

    def __len__(self) -> int:
        return len(self.features)

    def _check_text(self, name: str) -> None:
        values = getattr(self, name)
        require_shape(name, values, (len(self),))
        if values.dtype.kind != "U":
            raise ValueError(f"{name} must be text, got {values.dtype}")

    def _check_ids_and_parts(self) -> None:
        values, counts = np.unique(self.ids, return_counts=True)
        if counts.max() > 1:
            raise ValueError(f"ids must name each image once, got {counts.max()} times {values[counts.argmax()]}")
        for part in np.unique(self.parts):
            require_known("parts", str(part), PARTS)

    def save(self, path: str | os.PathLike) -> None:
        """Write an .npz without pickled objects, in one step; equal banks give equal bytes."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
        arrays["labels"] = self.labels.astype(np.uint8 if len(self.class_names) <= 256 else np.int64)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, {"format_version": np.asarray(BANK_VERSION), **arrays})

    @classmethod
    def load(cls, source: str | os.PathLike | IOBase) -> "FeatureBank":
        """Read what `save` wrote. ValueError says what is missing or wrong; pickled objects are refused."""
        arrays = load_arrays(source, MAX_BANK_BYTES)
        wanted = ["format_version", *(field.name for field in fields(cls) if field.name != "votes")]
        missing = [name for name in wanted if name not in arrays]
        if missing:
            raise ValueError(f"the feature bank lacks {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}")
        version = arrays["format_version"]
        if version.shape != () or version != BANK_VERSION:
            raise ValueError(f"the feature bank has format {version!s}; this version reads {BANK_VERSION}")
        require_shape("class_names", arrays["class_names"], (None,))
        return cls(
            features=arrays["features"],
            labels=_widen(arrays["labels"]),
            ids=arrays["ids"],
            groups=arrays["groups"],
            parts=arrays["parts"],
            class_names=tuple(arrays["class_names"].astype(str).tolist()),
            name=str(arrays["name"]),
            licence=str(arrays["licence"]),
            source=str(arrays["source"]),
            votes=arrays.get("votes"),
        )


def bank_path(name: str) -> Path:
    """The path of the shipped bank of that name; FileNotFoundError says how to make a missing one."""
    require_known("name", name, BANKS)
    path = FOLDER / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no feature bank pretrained/features/{path.name}; make it from the data with: "
            f"python -m l2d_core pretrain features --data-root DIR --dataset {name}"
        )
    return path


def _widen(labels: np.ndarray) -> np.ndarray:
    return labels.astype(np.int64) if np.issubdtype(labels.dtype, np.integer) else labels
