"""The bank's features in two dimensions: the two directions in which the diagnoses differ most."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from l2d_core.lesions.bank import LesionBank

RIDGE = 0.1  # of the mean variance within a class


@dataclass(frozen=True)
class Plane:
    """centre (D,), axes (D, 2): where a case of features (D,) lies is (features - centre) @ axes."""

    centre: np.ndarray
    axes: np.ndarray

    def place(self, features: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N 2"]:
        """Where N cases lie."""
        return (features - self.centre) @ self.axes


def fit_plane(bank: LesionBank) -> Plane:
    """Fisher's linear discriminants of the bank's validation part, which the network was not trained on.

    The directions a that maximise a^T B a / a^T W a, with B between and W within the classes, each class counted the
    same. Source: Fisher 1936; Rao 1948 for more than two classes.
    """
    rows = bank.parts == "validation"
    features, labels = bank.features[rows].astype(np.float64), bank.labels[rows]
    classes = [features[labels == label] for label in np.unique(labels)]
    means = np.stack([own.mean(axis=0) for own in classes])
    within = np.mean(
        [(own - mean).T @ (own - mean) / len(own) for own, mean in zip(classes, means, strict=True)], axis=0
    )
    within += RIDGE * np.trace(within) / len(within) * np.eye(len(within))
    whiten = np.linalg.inv(np.linalg.cholesky(within))
    centre = means.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov(whiten @ (means - centre).T))
    return Plane(centre, whiten.T @ directions[:, :-3:-1])
