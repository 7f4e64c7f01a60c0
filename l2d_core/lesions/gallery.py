"""The test cases as they are shown beside new ones: age, sex, site and lesion of each, and a thumbnail."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from l2d_core.common.files import write_whole
from l2d_core.datasets.ham10000 import list_images
from l2d_core.images.opening import to_model_size

TABLE, SPRITE = "ham10000/test_cases.csv", "ham10000/test_cases.jpg"
WIDTH, HEIGHT, COLUMNS = 84, 63, 40  # of a thumbnail, in pixels, and how many stand in a row of the sprite
QUALITY = 72
FIELDS = ("id", "lesion", "age", "sex", "localization")


@dataclass(frozen=True)
class Gallery:
    """cases: FIELDS of each of N test cases, text, in the order of the bank's test part; sprite: a JPEG of them all.

    ValueError where the sprite has another size than N thumbnails take.
    """

    cases: pd.DataFrame
    sprite: bytes

    def __post_init__(self) -> None:
        rows = -(-len(self.cases) // COLUMNS)
        wanted, size = (COLUMNS * WIDTH, rows * HEIGHT), Image.open(io.BytesIO(self.sprite)).size
        if size != wanted:
            raise ValueError(f"the sprite of {len(self.cases):,} test cases must have size {wanted}, got {size}")

    @cached_property
    def _pixels(self) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(self.sprite)))

    def thumbnail(self, row: int) -> bytes:
        """The picture of the test case at a row, as JPEG."""
        top, left = HEIGHT * (row // COLUMNS), WIDTH * (row % COLUMNS)
        stream = io.BytesIO()
        Image.fromarray(self._pixels[top : top + HEIGHT, left : left + WIDTH]).save(stream, "JPEG", quality=85)
        return stream.getvalue()

    def save(self, folder: Path) -> None:
        """Write TABLE and SPRITE below a folder."""
        (folder / TABLE).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / TABLE, self.cases.to_csv(index=False).encode())
        write_whole(folder / SPRITE, self.sprite)

    @classmethod
    def load(cls, folder: Path) -> "Gallery":
        """Read what `save` wrote. ValueError where columns are missing or the sprite does not fit the table."""
        return cls(read_cases(folder), (folder / SPRITE).read_bytes())


def read_cases(folder: Path) -> pd.DataFrame:
    """The table that `Gallery.save` wrote below a folder. ValueError where columns are missing."""
    cases = pd.read_csv(folder / TABLE, dtype=str, keep_default_na=False)
    if tuple(cases.columns) != FIELDS:
        raise ValueError(f"{TABLE} must have the columns {', '.join(FIELDS)}, got {', '.join(cases.columns)}")
    return cases


def make_gallery(data_root: Path, ids: Sequence[str] | np.ndarray) -> Gallery:
    """The gallery of these images under data_root. Raises what `list_images` raises; KeyError on an unknown id."""
    table = list_images(data_root).set_index("id").loc[list(ids)]
    rows = -(-len(table) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * HEIGHT))
    for place, path in enumerate(table["path"]):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        small = Image.fromarray(to_model_size(pixels, HEIGHT, WIDTH))
        sheet.paste(small, (WIDTH * (place % COLUMNS), HEIGHT * (place // COLUMNS)))
    stream = io.BytesIO()
    sheet.save(stream, "JPEG", quality=QUALITY, optimize=True)
    cases = table.reset_index().rename(columns={"group": "lesion"})[list(FIELDS)].astype(str)
    return Gallery(cases, stream.getvalue())
