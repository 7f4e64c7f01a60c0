"""Reading image files as inputs of a network."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from l2d_core.common.files import open_regular
from l2d_core.common.machine import num_processors
from l2d_core.images.jpeg_damage import require_undamaged
from l2d_core.images.opening import MAX_FILE_BYTES, MAX_PIXELS, ImageProblem, open_image
from l2d_core.models.backbones import MEAN, STD

MIN_SIZE, MAX_SIZE = 16, 1024  # height or width in pixels


def read_image(path: str | os.PathLike, image_size: tuple[int, int]) -> Float[Tensor, "3 H W"]:
    """An image file as a network's input: RGB, bicubically resized to (height, width), (pixel - MEAN) / STD.

    The rules are those of `images.open_image` for uploads: upright, transparency over white, nothing damaged or huge.
    OSError names a file that is no image or is damaged.
    """
    try:
        with open_regular(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        rgb = _plain_jpeg(data) or Image.fromarray(open_image(data, Path(path).name).pixels)
    except ImageProblem as problem:
        raise OSError(f"{os.fspath(path)} cannot be read as an image: {problem.reason}") from problem
    height, width = image_size
    if rgb.size != (width, height):
        rgb = rgb.resize((width, height), Image.Resampling.BICUBIC)
    pixels = torch.from_numpy(np.asarray(rgb).copy()).permute(2, 0, 1)
    return (pixels / 255 - MEAN) / STD


def _plain_jpeg(data: bytes) -> Image.Image | None:
    """A JPEG to which none of the rules applies, such as the published images; else None. Eight times faster."""
    try:
        with Image.open(BytesIO(data), formats=("JPEG",)) as image:
            is_plain = image.mode == "RGB" and "exif" not in image.info and image.width * image.height <= MAX_PIXELS
            if not is_plain:
                return None
            require_undamaged(data)
            return image.convert("RGB")
    except Exception:  # open_image raises what is wrong with it
        return None


def in_parquet(folder: Path) -> str:
    """What to say of a folder without images that holds Parquet or Arrow files; else ""."""
    shards = sum(1 for path in folder.rglob("*") if path.suffix.lower() in (".parquet", ".arrow"))
    if not shards:
        return ""
    return (
        f" The folder holds {shards:,} Parquet or Arrow files, such as Hugging Face's, with images inside: save each"
        ' as a file first, with the package datasets: for row in load_dataset("parquet", data_files=[...])["train"]: '
        'row["image"].save(...)'
    )


def read_images(paths: Sequence[Path], image_size: tuple[int, int]) -> Float[Tensor, "N 3 H W"]:
    """Image files as `read_image` gives them, in float16, on all cores.

    Half precision takes half the memory and keeps all 256 shades distinct: in -1..1 they are 1/127 apart, and the
    rounding error is at most 1/4096. ValueError on a height or width out of range.
    """
    for name, pixels in zip(("height", "width"), image_size, strict=True):
        if not MIN_SIZE <= pixels <= MAX_SIZE:
            raise ValueError(f"{name} must lie in {MIN_SIZE}..{MAX_SIZE} pixels, got {pixels}")
    images = torch.empty(len(paths), 3, *image_size, dtype=torch.float16)

    def read(row: int) -> None:
        images[row] = read_image(paths[row], image_size)

    with ThreadPoolExecutor(num_processors()) as pool:
        for _ in pool.map(read, range(len(paths))):
            pass
    return images
