"""The split of HAM10000 in training, validation and test: by lesion, or by image as in the paper."""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from l2d_core.common.checks import require_known
from l2d_core.common.seeds import numpy_generator
from l2d_core.data import split_by_group

SPLITS = ("by_lesion", "by_image")
PARTS = ("training", "validation", "test")
FRACTIONS = (0.6, 0.2, 0.2)

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def split_rows(table: pd.DataFrame, seed: int = 0, split: str = "by_lesion") -> Rows:
    """The sorted rows of training, validation and test: 60/20/20, stratified by class.

    table: columns id, group (the lesion) and label, as `list_images` gives them. by_lesion: no lesion is in two
    parts, and the parts are those of the shipped feature bank; an image whose lesion is unknown (its group is its
    own id) counts as a lesion. by_image: lesions may be in several parts. The UserWarning of `split_warning` is issued
    where one may be in two.
    """
    parts = cut_rows(table, seed, split)
    warning = split_warning(table, parts)
    if warning:
        warnings.warn(warning, stacklevel=2)
    return parts


def cut_rows(table: pd.DataFrame, seed: int, split: str) -> Rows:
    """`split_rows` without its warning."""
    require_known("split", split, SPLITS)
    groups = table["group" if split == "by_lesion" else "id"].to_numpy(dtype=str)
    labels = table["label"].to_numpy(dtype=np.int64)
    train, validation, test = split_by_group(groups, labels, FRACTIONS, generator=numpy_generator(seed, "split"))
    assert split == "by_image" or not shared_lesions(table, (train, validation, test))
    return train, validation, test


def shared_lesions(table: pd.DataFrame, parts: Sequence[np.ndarray]) -> int:
    """How many lesions have images in more than one part; parts: arrays of row numbers."""
    lesions = [np.unique(table["group"].to_numpy(dtype=str)[rows]) for rows in parts]
    _, times = np.unique(np.concatenate(lesions), return_counts=True)
    return int((times > 1).sum())


def split_warning(table: pd.DataFrame, parts: Sequence[np.ndarray]) -> str:
    """A warning about a split, empty where no lesion can be in two parts."""
    shared, unknown = shared_lesions(table, parts), int(np.count_nonzero(table["group"] == table["id"]))
    if not shared and not unknown:
        return ""
    known = "" if not shared else f"{shared:,} of {table['group'].nunique():,} lesions have images in two or more parts"
    alone = "" if not unknown else f"the lesion of {unknown:,} of {len(table):,} images is not known"
    return f"image-level split, scores may be optimistic: {'; '.join(filter(None, (known, alone)))}"


def describe_split(table: pd.DataFrame, parts: Sequence[np.ndarray]) -> str:
    """Images and lesions in each part, and the warning if there is one."""
    groups = table["group"].to_numpy(dtype=str)
    counts = [
        f"{name} {len(rows):,} images of {len(np.unique(groups[rows])):,} lesions"
        for name, rows in zip(PARTS, parts, strict=True)
    ]
    return "; ".join(filter(None, (", ".join(counts), split_warning(table, parts))))
