"""The tuned network's features of all images of HAM10000: to refit heads, to find similar cases, and for the map."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Float32

from l2d_core.common.array_files import load_arrays, save_arrays
from l2d_core.common.checks import require_finite, require_range, require_shape
from l2d_core.data import DeferralData
from l2d_core.datasets.ham10000 import CLASS_NAMES, LICENCE, SOURCE, list_images
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_image
from l2d_core.datasets.projection import NUM_COMPONENTS, Projection, fit_projection
from l2d_core.experts.stored_answers import PARTS
from l2d_core.lesions.networks import BATCH_SIZE, LesionNetwork

LESION_BANK_VERSION = 1
MAX_LESION_BANK_BYTES = 64 * 1024**2


@dataclass(frozen=True)
class LesionBank:
    """Features of N images, with the projection that gives them and the weights they were made with.

    features (N, D) float16; labels (N,); ids (N,) text, unique; parts (N,) text, in PARTS; class_names K.
    mean (F,), components (D, F), scale: the projection of a network's F features. weights: SHA-256 of the network's
    file. licence, source: of the images.
    ValueError names what does not fit.
    """

    features: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    parts: np.ndarray
    class_names: tuple[str, ...]
    mean: np.ndarray
    components: np.ndarray
    scale: float
    weights: str
    licence: str = LICENCE
    source: str = SOURCE

    def __post_init__(self) -> None:
        require_shape("features", self.features, (None, None))
        size, width = self.features.shape
        for name in ("labels", "ids", "parts"):
            require_shape(name, getattr(self, name), (size,))
        require_finite("features", self.features, self.ids)
        require_range("labels", self.labels, 0, len(self.class_names) - 1, self.ids)
        require_shape("components", self.components, (width, len(self.mean)))
        counts = [int((self.parts == part).sum()) for part in PARTS]
        if sum(counts) != size or min(counts) == 0:
            raise ValueError(f"parts must each be one of {', '.join(PARTS)}, and all be there; got {counts} of {size}")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be finite and above 0, got {self.scale}")

    def part(self, name: str) -> DeferralData:
        """The cases of a part, one of PARTS, in the bank's order, without answers."""
        rows = np.flatnonzero(self.parts == name)
        inputs = torch.from_numpy(self.features[rows].astype(np.float32))
        return DeferralData.unasked(inputs, torch.from_numpy(self.labels[rows]), self.ids[rows], self.class_names)

    def project(self, raw: Float[np.ndarray, "N F"]) -> Float32[np.ndarray, "N D"]:
        """The network's features projected and rounded like those of the bank."""
        return Projection(self.mean, self.components, self.scale).apply(raw).astype(np.float32)

    def nearest(self, features: Float32[np.ndarray, " D"], count: int) -> np.ndarray:
        """The rows of the test part that are nearest to a case, (count,), the nearest first.

        Euclidean, each component in standard deviations over the training images.
        """
        test, spread = self._test_features
        return np.argsort((((test - features) / spread) ** 2).sum(axis=1), kind="stable")[:count]

    @cached_property
    def _test_features(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of the test part, and the deviation of each component over the training part, 1 where it is 0."""
        wide = self.features.astype(np.float32)
        spread = wide[self.parts == "train"].std(axis=0)
        return wide[self.parts == "test"], np.where(spread == 0, 1, spread)

    def save(self, path: str | os.PathLike) -> None:
        """Write an .npz without pickled objects, in one step."""
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, {"format_version": np.asarray(LESION_BANK_VERSION), **arrays})

    @classmethod
    def load(cls, path: str | os.PathLike) -> "LesionBank":
        """Read what `save` wrote. FileNotFoundError; ValueError names the file and what is missing or wrong."""
        arrays = load_arrays(path, MAX_LESION_BANK_BYTES)
        missing = [name for name in ("format_version", *(field.name for field in fields(cls))) if name not in arrays]
        if missing:
            raise ValueError(f"{os.fspath(path)} lacks {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}")
        version = arrays.pop("format_version")
        if version.shape != () or version != LESION_BANK_VERSION:
            raise ValueError(f"{os.fspath(path)} has format {version!s}; this version reads {LESION_BANK_VERSION}")
        try:
            return cls(
                features=arrays["features"],
                labels=arrays["labels"].astype(np.int64),
                ids=arrays["ids"],
                parts=arrays["parts"],
                class_names=tuple(np.atleast_1d(arrays["class_names"]).astype(str).tolist()),
                mean=arrays["mean"],
                components=arrays["components"],
                scale=float(arrays["scale"]),
                weights=str(arrays["weights"]),
                licence=str(arrays["licence"]),
                source=str(arrays["source"]),
            )
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{os.fspath(path)}: {problem}") from problem


def weights_digest(path: str | os.PathLike) -> str:
    """SHA-256 of a file, by which a bank identifies its network."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def make_lesion_bank(
    data_root: Path,
    network: LesionNetwork,
    weights: str,
    *,
    split_seed: int = 0,
    num_components: int = NUM_COMPONENTS,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> LesionBank:
    """The bank of all images under data_root: the network's features, projected onto 128 principal components.

    The components are fitted on the training part of the split by lesion, without labels. weights: the network's
    `weights_digest`. on_progress gets (images done, of all). Raises what `list_images` raises.
    """
    table = list_images(data_root)
    rows = split_rows(table, split_seed)
    raw = _features_of(network, list(table["path"]), on_progress)
    fitted = fit_projection(raw[rows[0]], min(num_components, raw.shape[1], len(rows[0])))
    # Rounded before use, so that the shipped projection gives exactly the features of the bank.
    projection = Projection(fitted.mean.astype(np.float32), fitted.components.astype(np.float16), fitted.scale)
    features = projection.apply(raw)
    parts = np.empty(len(table), dtype="<U10")
    for part, members in zip(PARTS, rows, strict=True):
        parts[members] = part
    return LesionBank(
        features=features,
        labels=table["label"].to_numpy(dtype=np.int64),
        ids=table["id"].to_numpy(dtype=str),
        parts=parts,
        class_names=CLASS_NAMES,
        mean=projection.mean,
        components=projection.components,
        scale=projection.scale,
        weights=weights,
    )


def _features_of(network: LesionNetwork, paths: list[Path], on_progress: Callable[[int, int], None]) -> np.ndarray:
    features = []
    for start in range(0, len(paths), BATCH_SIZE):
        batch = torch.stack([read_image(path, network.image_size) for path in paths[start : start + BATCH_SIZE]])
        features.append(network.score(batch)[0])
        on_progress(start + len(batch), len(paths))
    return np.concatenate(features)
