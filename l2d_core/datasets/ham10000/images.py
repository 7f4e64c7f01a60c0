"""HAM10000 as images for training networks."""

from pathlib import Path

import pandas as pd
import torch

from l2d_core.data import DeferralData, Splits
from l2d_core.datasets.ham10000 import CLASS_NAMES, list_images
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_images


def load(data_root: Path, seed: int = 0, *, height: int = 150, width: int = 200, split: str = "by_lesion") -> Splits:
    """The images under data_root/ham10000 in training, validation and test, 60/20/20, split by `split_rows`.

    inputs (N, 3, height, width) float16, as from `read_images`; every answer is -1 (not asked).
    10,015 images of 150 x 200 take 1.8 GB.
    ValueError on an option out of range; FileNotFoundError where there is no data; OSError names a damaged image.
    """
    table = list_images(Path(data_root))
    train, validation, test = (_read(table.iloc[rows], (height, width)) for rows in split_rows(table, seed, split))
    return Splits(train, validation, test)


def _read(table: pd.DataFrame, image_size: tuple[int, int]) -> DeferralData:
    inputs = read_images(list(table["path"]), image_size)
    labels = torch.tensor(table["label"].to_numpy(), dtype=torch.int64)
    return DeferralData.unasked(inputs, labels, table["id"].to_numpy(dtype=str), CLASS_NAMES)
