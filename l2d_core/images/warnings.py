"""Cheap signs that a picture is not what a model was trained on, each in words; none of them refuses it."""

import numpy as np
from jaxtyping import UInt8

MIN_SIDE = 32
MAX_ASPECT = 3.0
BLANK_DEVIATION = 2.0  # of 255 steps
NOISE_CORRELATION = 0.3  # neighbouring pixels of photographs correlate by more than 0.9
GREY_SPREAD = 2  # between the channels of a pixel, as lossy coding leaves it

_SAMPLED_SIDE = 256  # pixels on a side that are looked at


def image_warnings(pixels: UInt8[np.ndarray, "H W 3"]) -> tuple[str, ...]:
    """What is odd about an image, a line each: tiny, of an odd aspect, blank, grey, noise."""
    height, width = pixels.shape[:2]
    found = []
    if min(height, width) < MIN_SIDE:
        found.append(f"tiny: {width} x {height} pixels, under {MIN_SIDE} on a side")
    if max(height, width) > MAX_ASPECT * min(height, width):
        found.append(f"odd aspect: {width} x {height} pixels, over {MAX_ASPECT:g} to 1")
    sample = pixels[:: -(-height // _SAMPLED_SIDE), :: -(-width // _SAMPLED_SIDE)].astype(np.int16)
    if sample.std(axis=(0, 1)).max() < BLANK_DEVIATION:
        found.append("blank: nearly all pixels are alike")
    if max(np.abs(sample[:, :, a] - sample[:, :, b]).max() for a, b in ((0, 1), (1, 2), (2, 0))) <= GREY_SPREAD:
        found.append("grey: no colour information")
    if _is_noise(pixels):
        found.append("noise: neighbouring pixels are unrelated")
    return tuple(found)


def _is_noise(pixels: np.ndarray) -> bool:
    """Whether pixels in the middle hardly correlate with their right and lower neighbours."""
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_SIDE:
        return False
    top, left = max(0, height - _SAMPLED_SIDE) // 2, max(0, width - _SAMPLED_SIDE) // 2
    middle = pixels[top : top + _SAMPLED_SIDE, left : left + _SAMPLED_SIDE].mean(axis=2)
    return max(_correlation(middle[:, 1:], middle[:, :-1]), _correlation(middle[1:], middle[:-1])) < NOISE_CORRELATION


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's correlation of two arrays; 1 where one of them is constant."""
    a, b = one - one.mean(), other - other.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size > 1e-9 else 1.0
