"""scikit-learn's handwritten digits: 1,797 images of 8x8 pixels, with optional noise on the pixels."""

import numpy as np
import torch

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets.facts import DIGITS as CLASS_NAMES

FRACTIONS = (0.6, 0.2, 0.2)


def load(seed: int = 0, noise: float = 0.0) -> Splits:
    """60/20/20 of the digits, stratified; inputs (N, 64), pixels from -0.5 to 0.5 plus Gaussian noise.

    noise: standard deviation, as a fraction of the range from white to black; at least 0. Noise and split depend
    only on the seed. Source: Alpaydin and Kaynak 1998, doi 10.24432/C50P49, as in scikit-learn.
    """
    from sklearn.datasets import load_digits

    if not 0 <= noise < float("inf"):
        raise ValueError(f"noise must be at least 0 and finite, got {noise}")
    pixels, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    inputs = pixels / 16 - 0.5
    inputs = inputs + noise * numpy_generator(seed, "noise").standard_normal(inputs.shape)
    ids = np.asarray([f"digit {row}" for row in range(len(labels))])
    whole = DeferralData.unasked(
        torch.as_tensor(inputs, dtype=torch.float32),
        torch.as_tensor(labels, dtype=torch.int64),
        ids,
        CLASS_NAMES,
    )
    parts = split_by_group(ids, labels, FRACTIONS, generator=numpy_generator(seed, "split"))
    return Splits(*(whole.subset(part) for part in parts))
