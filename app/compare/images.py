"""Pictures of test cases, by their ids, where the data set lies on this server."""

import re
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from PIL import Image

from l2d_core.common.files import open_regular
from l2d_core.common.paths import served_data_root
from l2d_core.datasets import cifar10
from l2d_core.datasets.ham10000 import files
from l2d_core.datasets.ham10000.values import match_key
from l2d_core.images.opening import MAX_FILE_BYTES, open_image

SIDE = 192  # pixels, of the longer side
CIFAR10_ID = re.compile(rf"(?:{'|'.join(cifar10.PARTS)})/(?:{'|'.join(cifar10.CLASS_NAMES)})/\d{{4}}", re.ASCII)
HAM10000_ID = re.compile(r"ISIC_\d{7}", re.ASCII)


def thumbnails(ids: Sequence[str], data_root: str | None = None) -> dict[str, bytes]:
    """Small PNG images by id, of the ids whose images exist and can be read."""
    root = served_data_root() if data_root is None else data_root
    if not root or not Path(root).is_dir():
        return {}
    found = {one: _thumbnail(root, one) for one in ids}
    return {one: image for one, image in found.items() if image}


@lru_cache(maxsize=400)
def _thumbnail(root: str, image_id: str) -> bytes:
    path = _path(root, image_id)
    if path is None:
        return b""
    try:
        with open_regular(path) as file:
            pixels = open_image(file.read(MAX_FILE_BYTES + 1), path.name).pixels
    except (OSError, ValueError):
        return b""
    image, buffer = Image.fromarray(pixels), BytesIO()
    if max(image.size) > SIDE:
        image.thumbnail((SIDE, SIDE))
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _path(root: str, image_id: str) -> Path | None:
    """The image file of an id of a known data set; None if there is none."""
    if CIFAR10_ID.fullmatch(image_id):
        paths = (Path(root) / "cifar10" / (image_id + suffix) for suffix in cifar10.SUFFIXES)
        return next((path for path in paths if path.is_file()), None)
    if HAM10000_ID.fullmatch(image_id):
        return _lesions(root).get(match_key(image_id))
    return None


@lru_cache(maxsize=2)
def _lesions(root: str) -> dict[str, Path]:
    folder = files.find_folder(root)
    return {} if folder is None else {key: paths[0] for key, paths in files.find_files(folder).images.items()}
