"""A lesion drawn by code, so that the page can be tried without one at hand; no patient's, and no photograph."""

import io
import math

import numpy as np
from PIL import Image

NAME = "drawing.png"
HEIGHT, WIDTH = 450, 600
SKIN, MOLE, CORE = (222.0, 178.0, 158.0), (128.0, 82.0, 62.0), (78.0, 48.0, 42.0)


def draw() -> bytes:
    """A PNG of 600 x 450 pixels, the same each time: a brown spot with a ragged edge on skin."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    angle = np.arctan2(y - HEIGHT / 2, x - WIDTH / 2)
    radius = np.hypot(y - HEIGHT / 2, (x - WIDTH / 2) / 1.2)
    edge = 118 + 9 * np.sin(3 * angle + 1) + 5 * np.sin(7 * angle) + 3 * np.sin(13 * angle + 2)
    grain = np.random.default_rng(0).normal(size=(HEIGHT // 6, WIDTH // 6))
    texture = np.kron(grain, np.ones((6, 6)))
    spot = _ramp(edge - radius, 14)[..., None]
    core = _ramp(0.55 * edge - np.hypot(y - 205, (x - 280) / 1.2), 26)[..., None]
    pixels = np.array(SKIN) * (1 - spot) + (np.array(MOLE) * (1 - core) + np.array(CORE) * core) * spot
    pixels += 3.5 * texture[..., None] + 6 * np.sin(2 * math.pi * x / WIDTH)[..., None]
    stream = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def _ramp(distance: np.ndarray, width: float) -> np.ndarray:
    """From 0, outside, to 1 within so many pixels."""
    return 1 / (1 + np.exp(-4 * distance / width))
