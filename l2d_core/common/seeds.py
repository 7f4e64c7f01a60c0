"""One seed, and an independent generator for each purpose, so that changing one leaves the others alone."""

import zlib

import numpy as np
import torch


def numpy_generator(seed: int, purpose: str) -> np.random.Generator:
    """A NumPy generator that depends on the seed and the purpose ("split", "answers", ...) alone."""
    return np.random.default_rng(_sequence(seed, purpose))


def torch_generator(seed: int, purpose: str) -> torch.Generator:
    """A CPU torch generator that depends on the seed and the purpose alone."""
    state = int(_sequence(seed, purpose).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(state >> 1)  # torch refuses numbers of 64 bits


def _sequence(seed: int, purpose: str) -> np.random.SeedSequence:
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    return np.random.SeedSequence([seed, zlib.crc32(purpose.encode())])
