"""Making the detector of pictures that are unlike the training images, and counting what it catches."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from l2d_core.common.seeds import numpy_generator
from l2d_core.datasets.ham10000 import list_images
from l2d_core.lesions.bank import LesionBank
from l2d_core.lesions.detector import Detector, fit_detector
from l2d_core.lesions.networks import BATCH_SIZE, LesionNetwork, to_input
from l2d_core.lesions.strangers import DRAWN, digits

EVERY = {"train": 8, "validation": 2, "test": 2}  # of the images of a part one in so many: enough for 80 features
NUM_STRANGERS = 100  # pictures of each kind
# Folders below the data root with photographs of something else, if they are there.
PHOTOGRAPHS = {"CIFAR-10 photographs": "cifar10/test", "galaxies": "galaxy_zoo/images"}
OnProgress = Callable[[int, int], None]


def make_detector(
    data_root: Path, network: LesionNetwork, bank: LesionBank, *, on_progress: OnProgress = lambda done, total: None
) -> tuple[Detector, pd.DataFrame]:
    """The detector of a network's images, and the table of `count_catches` with the test images as first kind.

    on_progress gets (images done, of all). Raises what `list_images` raises.
    """
    paths = list_images(data_root).set_index("id")["path"]
    parts = {part: list(paths[bank.ids[bank.parts == part]][::every]) for part, every in EVERY.items()}
    kinds = strangers(data_root, NUM_STRANGERS)
    total, done = sum(map(len, parts.values())) + NUM_STRANGERS * len(kinds), 0

    def early(pictures: Iterable[np.ndarray]) -> np.ndarray:
        nonlocal done
        found = []
        for batch in _batches(pictures):
            found.append(network.score(torch.stack([to_input(one, network.image_size) for one in batch]))[1])
            done += len(batch)
            on_progress(min(done, total), total)
        return np.concatenate(found)

    detector = fit_detector(early(_read(parts["train"])), early(_read(parts["validation"])), bank.weights)
    groups = {"test lesions": early(_read(parts["test"])), **{name: early(made) for name, made in kinds.items()}}
    return detector, count_catches(detector, groups)


def strangers(data_root: Path, count: int) -> dict[str, Iterator[np.ndarray]]:
    """Kind -> that many pictures of it at most: what the data root holds of PHOTOGRAPHS, digits, and drawn ones."""
    kinds: dict[str, Iterator[np.ndarray]] = {}
    for name, folder in PHOTOGRAPHS.items():
        found = sorted((data_root / folder).rglob("*.jpg"))
        if found:
            kinds[name] = _read(found[:: max(1, len(found) // count)][:count])
    kinds["digits"] = islice(digits(), count)
    for name, draw in DRAWN.items():
        generator = numpy_generator(0, name)
        kinds[name] = (draw(generator) for _ in range(count))
    return kinds


def count_catches(detector: Detector, features: dict[str, np.ndarray]) -> pd.DataFrame:
    """One row per kind: n pictures, and of how many the distance is beyond the limit."""
    counts = [(name, len(one), int((detector.distance(one) > detector.limit).sum())) for name, one in features.items()]
    return pd.DataFrame(counts, columns=["kind", "n", "unlike"])


def _read(paths: Iterable[Path]) -> Iterator[np.ndarray]:
    for path in paths:
        with Image.open(path) as image:
            yield np.asarray(image.convert("RGB"))


def _batches(pictures: Iterable[np.ndarray]) -> Iterator[list[np.ndarray]]:
    rest = iter(pictures)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch
