"""Pictures that show no lesion, to measure what the detector of unlike pictures catches: drawn ones and noise."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image, ImageDraw

HEIGHT, WIDTH = 450, 600
SKIN, MOLE, CORE = (222.0, 178.0, 158.0), (128.0, 82.0, 62.0), (78.0, 48.0, 42.0)


def drawn_lesion(generator: np.random.Generator | None = None) -> np.ndarray:
    """A brown spot with a ragged edge on skin, (450, 600, 3) uint8; always the same one without a generator.

    With a generator its place, size, colours, edge and grain vary.
    """
    vary = generator is not None
    source = generator if generator is not None else np.random.default_rng(0)
    skin, mole, core = (np.array(c) + vary * source.normal(0, 15, 3) for c in (SKIN, MOLE, CORE))
    radius, wide = (source.uniform(50, 170), source.uniform(0.8, 1.5)) if vary else (118.0, 1.2)
    y0, x0 = (source.uniform(150, 300), source.uniform(200, 400)) if vary else (225.0, 300.0)
    phases = source.uniform(0, 2 * math.pi, 3) if vary else np.array([1.0, 0.0, 2.0])
    waves = radius * (source.uniform(0, 1, 3) * (0.15, 0.1, 0.05) if vary else np.array([9, 5, 3]) / 118)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    angle = np.arctan2(y - y0, x - x0)
    edge = radius + sum(a * np.sin(k * angle + p) for a, k, p in zip(waves, (3, 7, 13), phases, strict=True))
    texture = np.kron(source.normal(size=(HEIGHT // 6, WIDTH // 6)), np.ones((6, 6)))
    spot = _ramp(edge - np.hypot(y - y0, (x - x0) / wide), 14)[..., None]
    inner = _ramp(0.55 * edge - np.hypot(y - y0 + 20, (x - x0 + 20) / wide), 26)[..., None]
    pixels = skin * (1 - spot) + (mole * (1 - inner) + core * inner) * spot
    pixels += 3.5 * texture[..., None] + 6 * np.sin(2 * math.pi * x / WIDTH)[..., None]
    return np.clip(pixels, 0, 255).astype(np.uint8)


def _ramp(distance: np.ndarray, width: float) -> np.ndarray:
    """A sigmoid from 0 outside to 1 inside an edge, over about `width` pixels."""
    return 1 / (1 + np.exp(-4 * distance / width))


def drawing(generator: np.random.Generator) -> np.ndarray:
    """A few plain shapes on one colour, (450, 600, 3) uint8."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _colour(generator) if generator.random() < 0.5 else "white")
    pen = ImageDraw.Draw(image)
    for _ in range(int(generator.integers(2, 15))):
        (left, right), (top, bottom) = (sorted(generator.integers(0, size, 2).tolist()) for size in (WIDTH, HEIGHT))
        box, thick = (left, top, right + 1, bottom + 1), int(generator.integers(1, 12))
        kind = generator.integers(3)
        if kind == 0:
            pen.ellipse(box, fill=_colour(generator))
        elif kind == 1:
            pen.rectangle(box, outline=_colour(generator), width=thick)
        else:
            pen.line(box, fill=_colour(generator), width=thick)
    return np.asarray(image)


def noise(generator: np.random.Generator) -> np.ndarray:
    """Independent pixels, grey or in colours, or a smooth mixture of a few colours, (450, 600, 3) uint8."""
    kind = generator.integers(3)
    if kind == 0:
        return generator.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    if kind == 1:
        return np.clip(generator.normal(128, 60, (HEIGHT, WIDTH, 1)) + np.zeros(3), 0, 255).astype(np.uint8)
    side = int(generator.integers(3, 30))
    coarse = Image.fromarray(generator.integers(0, 256, (side, side, 3), dtype=np.uint8))
    return np.asarray(coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))


def digits() -> Iterator[np.ndarray]:
    """The handwritten digits of scikit-learn, white on black, (8, 8, 3) uint8, in their order."""
    from sklearn.datasets import load_digits

    for values in load_digits(return_X_y=True)[0]:
        yield np.repeat((values.reshape(8, 8) / 16 * 255).astype(np.uint8)[..., None], 3, axis=2)


# Kind -> a picture of that kind from a generator.
DRAWN: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "drawn lesions": drawn_lesion,
    "drawings": drawing,
    "noise": noise,
}


def _colour(generator: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = generator.integers(0, 256, 3).tolist()
    return red, green, blue
