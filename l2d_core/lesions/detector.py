"""Is a picture like the training images? The Mahalanobis distance of a network's early features, and a limit on it.

Features: mean and standard deviation over the picture of each channel after the third stage. They describe texture and
colour. The last layer's features do not serve: a drawn mole has those of a mole.
Source: Lee and others 2018, arXiv 1807.03888 (Mahalanobis distance of features, there one Gaussian per class).
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32
from safetensors import safe_open
from safetensors.numpy import save

from l2d_core.common.checks import require_finite, require_shape
from l2d_core.common.files import write_whole

CATCHES = "ham10000/detector.csv"  # of `detector_training.count_catches`
FALSE_ALARMS = 0.02  # of the validation images, by which the limit is set
RIDGE = 0.01  # on standardised features
VERSION = "1"


@dataclass(frozen=True)
class Detector:
    """mean, spread (F,): of the training images' features; whiten (F, F): of the standardised ones.

    limit: the distance beyond which a picture is not like them. weights: SHA-256 of the network's file.
    ValueError names what does not fit.
    """

    mean: np.ndarray
    spread: np.ndarray
    whiten: np.ndarray
    limit: float
    weights: str

    def __post_init__(self) -> None:
        require_shape("mean", self.mean, (None,))
        require_shape("spread", self.spread, self.mean.shape)
        require_shape("whiten", self.whiten, (len(self.mean), len(self.mean)))
        for name in ("mean", "spread", "whiten"):
            require_finite(name, getattr(self, name))
        if not (np.isfinite(self.limit) and self.limit > 0):
            raise ValueError(f"limit must be finite and above 0, got {self.limit}")

    def distance(self, features: Float[np.ndarray, "N F"]) -> Float32[np.ndarray, " N"]:
        """sqrt(z^T C^-1 z), z the standardised features and C their covariance over the training images."""
        whitened = (features - self.mean) / self.spread @ self.whiten
        return np.sqrt((whitened**2).sum(axis=1)).astype(np.float32)

    def save(self, path: str | os.PathLike) -> None:
        """Write a .safetensors file, in one step."""
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in ("mean", "spread", "whiten")}
        about = {"version": VERSION, "limit": repr(float(self.limit)), "weights": self.weights}
        write_whole(Path(path), save(arrays, metadata=about))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Detector":
        """Read what `save` wrote. FileNotFoundError; ValueError names the file and what is wrong with it."""
        try:
            with safe_open(path, framework="numpy") as file:
                about = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in ("mean", "spread", "whiten")}
            if about.get("version") != VERSION:
                raise ValueError(f"it has version {about.get('version')}; this program reads {VERSION}")
            return cls(**arrays, limit=float(about["limit"]), weights=about["weights"])
        except FileNotFoundError:
            raise
        except Exception as problem:  # safetensors has an error of its own
            raise ValueError(f"{os.fspath(path)}: {problem}") from problem


def fit_detector(
    train: Float[np.ndarray, "N F"], validation: Float[np.ndarray, "M F"], weights: str = "none"
) -> Detector:
    """The detector of these training images, with the limit that FALSE_ALARMS of the validation images exceed."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread = np.where(spread == 0, 1, spread)
    covariance = np.cov((train - mean) / spread, rowvar=False) + RIDGE * np.eye(train.shape[1])
    whiten = np.linalg.cholesky(np.linalg.inv(covariance))
    unlimited = Detector(mean.astype(np.float32), spread.astype(np.float32), whiten.astype(np.float32), 1.0, weights)
    return replace(unlimited, limit=float(np.quantile(unlimited.distance(validation), 1 - FALSE_ALARMS)))
