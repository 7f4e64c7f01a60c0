"""Projection of features onto their principal components, scaled by one number."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

NUM_COMPONENTS = 128  # for images


@dataclass(frozen=True)
class Projection:
    """Principal components, scaled by one number: z = (x - mean) components^T / scale.

    mean (F,), components (D, F), float64; scale: the root mean square of the projected training features, so that
    those have size 1 on average.
    """

    mean: np.ndarray
    components: np.ndarray
    scale: float

    def apply(self, features: Float[np.ndarray, "N F"]) -> Float[np.ndarray, "N D"]:
        """Project features (N, F) to (N, D), in float16."""
        projected = (features.astype(np.float64) - self.mean) @ self.components.T / self.scale
        return projected.astype(np.float16)


def fit_projection(features: Float[np.ndarray, "N F"], num_components: int) -> Projection:
    """The first principal components of the features (N, F), with the scale that gives them size 1.

    ValueError where all features are the same.
    """
    from sklearn.decomposition import PCA

    if not np.ptp(features, axis=0).any():
        raise ValueError(f"features must differ between images, got {len(features)} equal rows")
    analysis = PCA(num_components, svd_solver="full").fit(features.astype(np.float64))
    scale = float(np.sqrt(analysis.explained_variance_.mean()))
    return Projection(np.asarray(analysis.mean_), np.asarray(analysis.components_), scale)
