"""The tuned network's features of all images of HAM10000: to refit heads, and to recognise unlike images."""

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
FAR = 0.98  # an image is unlike the training images if it is farther from them than this share of the test images


@dataclass(frozen=True)
class LesionBank:
    """Features of N images, with the projection that gives them and the weights they were made with.

    features (N, D) float16; labels (N,); ids (N,) text, unique; parts (N,) text, in PARTS; class_names K.
    mean (F,), components (D, F), scale: the projection of a network's F features. distances (T,): of each
    test image to its nearest training image. weights: SHA-256 of the network's file. licence, source: of the images.
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
    distances: np.ndarray
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
        require_shape("distances", self.distances, (counts[2],))
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

    def distance(self, features: Float32[np.ndarray, "N D"]) -> Float32[np.ndarray, " N"]:
        """The `nearest_distance` of each to the training images."""
        return nearest_distance(features, self._train_features)

    @cached_property
    def _train_features(self) -> np.ndarray:
        return self.features[self.parts == "train"].astype(np.float32)

    @property
    def far(self) -> float:
        """The distance beyond which an image is unlike the training images: the FAR quantile over the test images."""
        return float(np.quantile(self.distances, FAR))

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
                distances=arrays["distances"],
                weights=str(arrays["weights"]),
                licence=str(arrays["licence"]),
                source=str(arrays["source"]),
            )
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{os.fspath(path)}: {problem}") from problem


def nearest_distance(features: Float32[np.ndarray, "N D"], others: Float32[np.ndarray, "M D"]) -> np.ndarray:
    """The distance of each of N points to the nearest of M others, (N,) float32; N may be 0.

    Euclidean, each component in standard deviations over the others, since other pictures may differ most where lesions
    differ little. A constant component is not scaled. ValueError where M is 0.
    """
    if len(others) == 0:
        raise ValueError("others must hold at least one point, got 0")
    spread = others.std(axis=0)
    spread[spread == 0] = 1
    one, other = (torch.from_numpy(points / spread) for points in (features, others))
    return torch.cdist(one, other).amin(dim=1).numpy()


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
    wide = features.astype(np.float32)
    return LesionBank(
        features=features,
        labels=table["label"].to_numpy(dtype=np.int64),
        ids=table["id"].to_numpy(dtype=str),
        parts=parts,
        class_names=CLASS_NAMES,
        mean=projection.mean,
        components=projection.components,
        scale=projection.scale,
        distances=nearest_distance(wide[parts == "test"], wide[parts == "train"]),
        weights=weights,
    )


def _features_of(network: LesionNetwork, paths: list[Path], on_progress: Callable[[int, int], None]) -> np.ndarray:
    features = []
    for start in range(0, len(paths), BATCH_SIZE):
        batch = torch.stack([read_image(path, network.image_size) for path in paths[start : start + BATCH_SIZE]])
        features.append(network.score(batch)[0])
        on_progress(start + len(batch), len(paths))
    return np.concatenate(features)
