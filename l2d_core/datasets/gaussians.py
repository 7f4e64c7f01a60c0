"""A mixture of Gaussians in the plane, with P(y|x), and so P(the expert is right|x), in closed form."""

import numpy as np
import torch

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits
from l2d_core.datasets.facts import GAUSSIANS as CLASS_NAMES

MEANS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
PRIORS = np.array([0.4, 0.3, 0.2, 0.1])
SIZES = {"train": 4000, "validation": 1000, "test": 4000}
PLANE = 2.5


def sample(size: int, spread: float, *, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points (size, 2) and their classes (size,): y by PRIORS, then x from N(MEANS[y], spread^2 I)."""
    _check_spread(spread)
    labels = generator.choice(len(PRIORS), size, p=PRIORS)
    return MEANS[labels] + spread * generator.standard_normal((size, 2)), labels


def class_probability(points: np.ndarray, spread: float) -> np.ndarray:
    """The true P(y|x) by Bayes' rule, (N, 4) for points (N, 2): PRIORS[y] N(x; MEANS[y], spread^2 I), normalised."""
    _check_spread(spread)
    distance = ((np.asarray(points, dtype=float)[:, None, :] - MEANS) ** 2).sum(2)
    log_weight = np.log(PRIORS) - distance / (2 * spread**2)
    weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
    return weight / weight.sum(1, keepdims=True)


def load(seed: int = 0, noise: float = 0.6) -> Splits:
    """4,000 training, 1,000 validation and 4,000 test points, drawn for each seed; `noise` is the spread."""
    parts = []
    for name, size in SIZES.items():
        points, labels = sample(size, noise, generator=numpy_generator(seed, f"gaussians {name}"))
        inputs = torch.as_tensor(points, dtype=torch.float32)
        ids = np.asarray([f"{name} point {row}" for row in range(size)])
        parts.append(DeferralData.unasked(inputs, torch.as_tensor(labels), ids, CLASS_NAMES))
    return Splits(*parts)


def plane(steps: int = 61) -> np.ndarray:
    """A square grid of points, (steps^2, 2), over [-PLANE, PLANE] in both directions, row by row from the south."""
    axis = np.linspace(-PLANE, PLANE, steps)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def _check_spread(spread: float) -> None:
    if not 0 < spread < float("inf"):
        raise ValueError(f"spread must be above 0 and finite, got {spread}")
