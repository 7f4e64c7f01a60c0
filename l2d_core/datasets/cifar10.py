"""CIFAR-10 as an image folder: cifar10/{train,test}/<class name>/*.jpg."""

from pathlib import Path

import pandas as pd

NAME = "CIFAR-10"
CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
PARTS = ("train", "test")
SUFFIXES = (".jpg", ".jpeg", ".png")
LICENCE = "none stated by the publisher; cite Krizhevsky 2009"
SOURCE = "Krizhevsky 2009, Learning multiple layers of features from tiny images, www.cs.toronto.edu/~kriz/cifar.html"
HOW_TO_GET = (
    f"CIFAR-10 must lie there as an image folder, cifar10/{{train,test}}/<class name>/*.jpg or *.png ({SOURCE}; "
    f"licence: {LICENCE}; torchvision.datasets.CIFAR10 downloads it)"
)


def list_images(data_root: Path) -> pd.DataFrame:
    """The images under data_root/cifar10: path, id, group, label and part ("train" or "test"), a row each.

    An id is "train/cat/0007"; each image is a group of its own. Rows are sorted by part as published, class and
    name. FileNotFoundError names a missing folder and how to get the data; ValueError an unknown class.
    """
    rows = []
    for part in PARTS:
        folder = Path(data_root) / "cifar10" / part
        _check_classes(folder)
        for label, class_name in enumerate(CLASS_NAMES):
            for path in _images_in(folder / class_name):
                image_id = f"{part}/{class_name}/{path.stem}"
                rows.append({"path": path, "id": image_id, "group": image_id, "label": label, "part": part})
    return pd.DataFrame(rows)


def _check_classes(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}. {HOW_TO_GET}")
    found = {entry.name for entry in folder.iterdir() if entry.is_dir()}
    missing = [name for name in CLASS_NAMES if name not in found]
    unknown = sorted(found.difference(CLASS_NAMES))
    if missing:
        raise FileNotFoundError(f"{folder} lacks the class folders {', '.join(missing)}. {HOW_TO_GET}")
    if unknown:
        raise ValueError(f"class folders must be {', '.join(CLASS_NAMES)}; got also {', '.join(unknown)} in {folder}")


def _images_in(folder: Path) -> list[Path]:
    images = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not images:
        raise FileNotFoundError(f"there are no images ({', '.join(SUFFIXES)}) in {folder}. {HOW_TO_GET}")
    return images
