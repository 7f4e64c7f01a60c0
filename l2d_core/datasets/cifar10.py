"""CIFAR-10, as published in batches or as an image folder, with the same ids and splits from either."""

import hashlib
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64, Int64, UInt8
from PIL import Image

from l2d_core.common.files import is_hidden
from l2d_core.common.seeds import numpy_generator
from l2d_core.data import DeferralData, Splits, split_by_group
from l2d_core.datasets.array_pickle import load_array_pickle
from l2d_core.datasets.facts import CIFAR10 as CLASS_NAMES
from l2d_core.datasets.image_files import in_parquet
from l2d_core.images.jpeg_damage import require_undamaged

NAME = "CIFAR-10"
PARTS = ("train", "test")
SUFFIXES = (".jpg", ".jpeg", ".png")
SIZE = 32  # pixels, high and wide
IMAGES_A_CLASS = {"train": 5000, "test": 1000}
FRACTIONS = (0.9, 0.1)  # training and validation, out of the published training images
LICENCE = "none stated by the publisher; cite Krizhevsky 2009"
SOURCE = "Krizhevsky 2009, Learning multiple layers of features from tiny images, www.cs.toronto.edu/~kriz/cifar.html"
HOW_TO_GET = (
    f"CIFAR-10 must lie there as an image folder, cifar10/{{train,test}}/<class name>/*.jpg or *.png ({SOURCE}; "
    f"licence: {LICENCE}; torchvision.datasets.CIFAR10 downloads it)"
)
THREE_WAYS = (
    "Three ways to get it: (1) torchvision.datasets.CIFAR10(FOLDER, download=True); (2) unpack cifar-10-python.tar.gz, "
    "from the publisher, so that FOLDER/cifar-10-batches-py is there; (3) have an image folder "
    f"FOLDER/cifar10/{{train,test}}/<class name>/*.jpg or *.png ({SOURCE}; licence: {LICENCE})"
)
BATCHES = {"train": tuple(f"data_batch_{number}" for number in range(1, 6)), "test": ("test_batch",)}
BATCH_FOLDERS = ("cifar-10-batches-py", "cifar10/cifar-10-batches-py")
# Of the labels of each part in their published order, one byte each.
ORDER_SHA256 = {
    "train": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
    "test": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
}


@dataclass(frozen=True)
class _Images:
    """N images of a part: pixels (N, 3, 32, 32) from 0 to 255, labels (N,), ids (N,)."""

    pixels: np.ndarray
    labels: np.ndarray
    ids: np.ndarray


def load(data_root: Path, seed: int = 0) -> Splits:
    """45,000 training, 5,000 validation and the 10,000 published test images, with classes of equal size.

    inputs (N, 3, 32, 32) float32, each channel standardised by its mean and deviation over the training images.
    data_root: the folder with cifar-10-batches-py/, which takes precedence, or cifar10/. seed: decides which of the
    published training images are for validation. An id is "train/cat/0007": in the published order, the cat after
    seven others. Rows are sorted by that number, then by class, so that neighbours are of different classes.

    FileNotFoundError where there is no data, with three ways to get it; ValueError names the folder or the file
    with a missing, unknown, incomplete or damaged part, or an image of another size.
    """
    published, test = (_read(Path(data_root), part) for part in PARTS)
    train, validation = split_by_group(
        published.ids, published.labels, FRACTIONS, generator=numpy_generator(seed, "split")
    )
    statistics = channel_statistics(published.pixels[train])
    parts = ((published, train), (published, validation), (test, np.arange(len(test.labels))))
    return Splits(*(_standardised(images, rows, *statistics) for images, rows in parts))


def find_layout(data_root: Path) -> Path | None:
    """The folder of the batches, else that of the images, else None."""
    for name in BATCH_FOLDERS:
        if (Path(data_root) / name).is_dir():
            return Path(data_root) / name
    folder = Path(data_root) / "cifar10"
    return folder if any((folder / part).is_dir() for part in PARTS) else None


def list_images(data_root: Path) -> pd.DataFrame:
    """The images under data_root/cifar10: path, id, group, label and part ("train" or "test").

    One row per image. An id is "train/cat/0007"; each image is a group of its own. Rows are sorted by published part,
    class and name. FileNotFoundError names a missing folder and how to get the data; ValueError an unknown class.
    """
    return pd.concat([_list_part(Path(data_root), part) for part in PARTS], ignore_index=True)


def require_published_order(labels: np.ndarray, part: str, where: str) -> None:
    """Raise ValueError unless labels (N,) are those of CIFAR-10's part in the published order; `where` names them."""
    wanted = len(CLASS_NAMES) * IMAGES_A_CLASS[part]
    if labels.shape != (wanted,):
        raise ValueError(f"{where} must be {wanted:,} labels, got shape {labels.shape}: download it again")
    is_byte = ((labels >= 0) & (labels < len(CLASS_NAMES))).all()
    if not is_byte or hashlib.sha256(labels.astype(np.uint8).tobytes()).hexdigest() != ORDER_SHA256[part]:
        raise ValueError(
            f"{where} must be the labels of the {part} images of CIFAR-10 in their published order; it differs"
        )


def channel_statistics(
    pixels: UInt8[np.ndarray, "N C H W"],
) -> tuple[Float64[np.ndarray, " C"], Float64[np.ndarray, " C"]]:
    """Mean and standard deviation of each channel over all pixels; the deviation is 1 where all are equal."""
    shades = np.arange(256.0)
    counts = np.zeros((pixels.shape[1], 256))
    for start in range(0, len(pixels), 1000):  # counting takes eight times the memory of the pixels
        chunk = pixels[start : start + 1000]
        counts += [np.bincount(channel.ravel(), minlength=256) for channel in chunk.swapaxes(0, 1)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean = shares @ shades
    deviation = np.sqrt((shares * (shades - mean[:, None]) ** 2).sum(axis=1))
    return mean, np.where(deviation > 0, deviation, 1.0)


def _standardised(images: _Images, rows: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> DeferralData:
    inputs = torch.from_numpy(images.pixels[rows]).to(torch.float32)
    for channel in range(inputs.shape[1]):
        inputs[:, channel].sub_(mean[channel]).div_(deviation[channel])
    return DeferralData.unasked(inputs, torch.from_numpy(images.labels[rows]), images.ids[rows], CLASS_NAMES)


def _read(data_root: Path, part: str) -> _Images:
    folder = find_layout(data_root)
    if folder is None:
        raise FileNotFoundError(f"there is no CIFAR-10 in {data_root}.{in_parquet(data_root)} {THREE_WAYS}")
    return _read_folder(data_root, part) if folder.name == "cifar10" else _read_all_batches(folder, part)


def _read_folder(data_root: Path, part: str) -> _Images:
    table = _list_part(data_root, part)
    counts = table["label"].value_counts().to_dict()
    for label, name in enumerate(CLASS_NAMES):
        if counts[label] != IMAGES_A_CLASS[part]:
            raise ValueError(
                f"{data_root / 'cifar10' / part / name} must hold {IMAGES_A_CLASS[part]:,} images, got "
                f"{counts[label]:,}: copy or unpack it again"
            )
    table = table.iloc[_order_and_numbers(table["label"].to_numpy())[0]]
    pixels = np.empty((len(table), 3, SIZE, SIZE), dtype=np.uint8)
    for row, path in enumerate(table["path"]):
        pixels[row] = _read_image(path)
    return _Images(pixels, table["label"].to_numpy(np.int64), table["id"].to_numpy(str))


def _order_and_numbers(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows sorted by number within the class, then by class; and the number of each row; both (N,)."""
    numbers = pd.Series(labels).groupby(labels).cumcount().to_numpy()
    return np.lexsort((labels, numbers)), numbers


def _read_image(path: Path) -> np.ndarray:
    try:
        data = path.read_bytes()
        with Image.open(BytesIO(data), formats=("JPEG", "PNG")) as image:
            size = image.size  # checked before any pixel is decoded
            if size == (SIZE, SIZE) and image.format == "JPEG":
                require_undamaged(data)
            pixels = np.asarray(image.convert("RGB")) if size == (SIZE, SIZE) else None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as problem:
        raise ValueError(f"{path} is no readable JPEG or PNG image: {problem}") from problem
    if pixels is None:
        raise ValueError(f"images must be {SIZE} x {SIZE} pixels, got {size[0]} x {size[1]} in {path}")
    return pixels.transpose(2, 0, 1)


def read_batches(folder: Path, part: str) -> tuple[UInt8[np.ndarray, "N 3 H W"], Int64[np.ndarray, " N"]]:
    """Pixels and labels of the published batches of a part, in their order. Raises what `load` raises."""
    batches = [_read_batch(folder / name) for name in BATCHES[part]]
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    require_published_order(labels, part, f"the labels of {', '.join(BATCHES[part])} in {folder}")
    return pixels, labels


def _read_all_batches(folder: Path, part: str) -> _Images:
    pixels, labels = read_batches(folder, part)
    order, numbers = _order_and_numbers(labels)
    ids = [f"{part}/{CLASS_NAMES[labels[row]]}/{numbers[row]:04}" for row in order]
    return _Images(pixels[order], labels[order], np.asarray(ids))


def _read_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 3, 32, 32) and labels (N,) of one file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} lacks {path.name}: download it again. {THREE_WAYS}")
    content = load_array_pickle(path)
    pixels, labels = np.asarray(content.get("data")), np.asarray(content.get("labels"))
    is_image = pixels.dtype == np.uint8 and pixels.shape[1:] == (3 * SIZE**2,)
    if not is_image or labels.dtype.kind != "i" or labels.shape != pixels.shape[:1]:
        raise ValueError(f"{path} must hold data (N, {3 * SIZE**2}) of bytes, and N labels: download it again")
    return pixels.reshape(-1, 3, SIZE, SIZE), labels.astype(np.int64)


def _list_part(data_root: Path, part: str) -> pd.DataFrame:
    folder = data_root / "cifar10" / part
    _check_classes(folder)
    rows = []
    for label, class_name in enumerate(CLASS_NAMES):
        for path in _images_in(folder / class_name):
            number = path.stem.zfill(4) if path.stem.isdecimal() else path.stem
            image_id = f"{part}/{class_name}/{number}"
            rows.append({"path": path, "id": image_id, "group": image_id, "label": label, "part": part})
    return pd.DataFrame(rows)


def _check_classes(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}. {HOW_TO_GET}")
    found = {entry.name for entry in folder.iterdir() if entry.is_dir() and not is_hidden(entry.name)}
    missing = [name for name in CLASS_NAMES if name not in found]
    unknown = sorted(found.difference(CLASS_NAMES))
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks the class folders {', '.join(missing)}.{in_parquet(folder)} {HOW_TO_GET}"
        )
    if unknown:
        names = ", ".join(unknown[:10])
        warnings.warn(f"{folder} holds folders that are no class of CIFAR-10 and are not read: {names}", stacklevel=4)


def _images_in(folder: Path) -> list[Path]:
    """The images sorted by the length of their names, then by name: 9.jpg comes before 10.jpg."""
    images = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not is_hidden(path.name)]
    images.sort(key=lambda path: (len(path.stem), path.name))
    if not images:
        raise FileNotFoundError(f"there are no images ({', '.join(SUFFIXES)}) in {folder}. {HOW_TO_GET}")
    return images
