"""The shipped feature banks in training, validation and test parts."""

from functools import cache

import numpy as np
import torch

from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets.feature_bank import FeatureBank, bank_path

GROUP_FRACTIONS = (0.6, 0.2, 0.2)
VALIDATION_FRACTION = 0.1


def load_splits(name: str, seed: int = 0, noise: float = 0.0) -> Splits:
    """The bank `name`, one of BANKS, in training, validation and test, features (N, D) float32.

    Without a published split: 60/20/20 of the groups (such as lesions), stratified by class. With one: its test part,
    and 10 % of its training part for validation. The seed decides what is drawn.
    noise: standard deviation of Gaussian noise on each feature, as a multiple of that feature's own over the bank.
    """
    if not 0 <= noise < float("inf"):
        raise ValueError(f"noise must be at least 0 and finite, got {noise}")
    bank, whole = _whole(name)
    if noise:
        scale = noise * whole.inputs.std(dim=0)
        draws = numpy_generator(seed, "noise").standard_normal(whole.inputs.shape, dtype=np.float32)
        whole = DeferralData.unasked(
            whole.inputs + scale * torch.from_numpy(draws), whole.labels, whole.ids, whole.class_names
        )
    return Splits(*(whole.subset(rows) for rows in _split(bank, seed)))


@cache
def _whole(name: str) -> tuple[FeatureBank, DeferralData]:
    bank = FeatureBank.load(bank_path(name))
    inputs = torch.from_numpy(bank.features.astype(np.float32))
    return bank, DeferralData.unasked(inputs, torch.from_numpy(bank.labels), bank.ids, bank.class_names)


def _split(bank: FeatureBank, seed: int) -> list[np.ndarray]:
    generator = numpy_generator(seed, "split")
    if not (bank.parts == "test").any():
        return split_by_group(bank.groups, bank.labels, GROUP_FRACTIONS, generator=generator)
    published = np.flatnonzero(bank.parts == "train")
    fractions = (1 - VALIDATION_FRACTION, VALIDATION_FRACTION)
    parts = split_by_group(bank.groups[published], bank.labels[published], fractions, generator=generator)
    return [*(published[part] for part in parts), np.flatnonzero(bank.parts == "test")]
