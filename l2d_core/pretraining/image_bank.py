"""Making a feature bank of images: a frozen network's features, projected onto principal components."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from l2d_core.common.checks import require_known
from l2d_core.common.seeds import numpy_generator
from l2d_core.data import split_by_group
from l2d_core.datasets import cifar10, galaxy_zoo, ham10000, voted_images
from l2d_core.datasets.feature_bank import FeatureBank
from l2d_core.datasets.ham10000.split import split_rows
from l2d_core.datasets.image_files import read_image
from l2d_core.datasets.projection import NUM_COMPONENTS, fit_projection
from l2d_core.datasets.vote_table import in_small_type
from l2d_core.models.backbones import efficientnet_lite0

BATCH_SIZE = 16  # the fastest on two cores
CIFAR_TRAIN_IMAGES = 10_000

Progress = Callable[[int, int], None]  # takes the number of images done, and of all


@dataclass(frozen=True)
class BankRecipe:
    """How the bank of one data set is made.

    list_images: data root -> table of path, id, group, label, part; choose: (table, seed) -> the rows to keep and,
    among those, the rows that the components are fitted on. image_size: (height, width) that the network sees.
    voted: the table has a column "votes: NAME" per class.
    """

    name: str
    list_images: Callable[[Path], pd.DataFrame]
    choose: Callable[[pd.DataFrame, int], tuple[np.ndarray, np.ndarray]]
    image_size: tuple[int, int]
    class_names: tuple[str, ...]
    licence: str
    source: str
    num_components: int | None = None  # NUM_COMPONENTS if None
    voted: bool = False


def make_bank(
    dataset: str,
    data_root: Path,
    *,
    seed: int = 0,
    network: nn.Module | None = None,
    on_progress: Progress = lambda done, total: None,
) -> FeatureBank:
    """The feature bank of a data set: the network's features of its images under data_root, on principal components.

    dataset: a name in RECIPES. The components are fitted, without labels, on training images that depend only on the
    seed. network: EfficientNet-Lite0 if None. on_progress gets (images done, of all).
    """
    require_known("dataset", dataset, RECIPES)
    recipe = RECIPES[dataset]
    images = recipe.list_images(data_root)
    kept, fitted = recipe.choose(images, seed)
    table = images.iloc[kept]
    network = efficientnet_lite0() if network is None else network
    raw = extract_features(network, list(table["path"]), recipe.image_size, on_progress=on_progress)
    projection = fit_projection(raw[fitted], min(recipe.num_components or NUM_COMPONENTS, raw.shape[1], len(fitted)))
    return FeatureBank(
        features=projection.apply(raw),
        labels=table["label"].to_numpy(dtype=np.int64),
        ids=table["id"].to_numpy(dtype=str),
        groups=table["group"].to_numpy(dtype=str),
        parts=table["part"].to_numpy(dtype=str),
        class_names=recipe.class_names,
        name=recipe.name,
        licence=recipe.licence,
        source=recipe.source,
        votes=_votes(table, recipe),
    )


def extract_features(
    network: nn.Module,
    paths: Sequence[Path],
    image_size: tuple[int, int],
    *,
    on_progress: Progress = lambda done, total: None,
) -> Float[np.ndarray, "N F"]:
    """The network's features of each image file, (N, F) float32; computed in bfloat16 on the CPU.

    OSError names a file that is not an image.
    """
    frozen = _freeze(network, image_size)
    batches = []
    for start in range(0, len(paths), BATCH_SIZE):
        images = [read_image(path, image_size) for path in paths[start : start + BATCH_SIZE]]
        with torch.inference_mode():
            batch = torch.stack(images).contiguous(memory_format=torch.channels_last)
            batches.append(frozen(batch).float())
        on_progress(start + len(images), len(paths))
    return torch.cat(batches).numpy()


def _freeze(network: nn.Module, image_size: tuple[int, int]) -> Callable[[Tensor], Tensor]:
    """The network compiled for batches of one image size, which is twice as fast on a CPU."""
    network = network.eval().to(memory_format=torch.channels_last)
    example = torch.zeros(BATCH_SIZE, 3, *image_size).contiguous(memory_format=torch.channels_last)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # tracing warns that the padding is fixed to the image size, as intended
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            return torch.jit.freeze(torch.jit.trace(network, example))


def _votes(table: pd.DataFrame, recipe: BankRecipe) -> np.ndarray | None:
    if not recipe.voted:
        return None
    return in_small_type(table[[f"votes: {name}" for name in recipe.class_names]].to_numpy(np.float64))


def _choose_cifar10(images: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """10,000 training images in equal classes, and all test images; components from the former."""
    train = np.flatnonzero(images["part"] == "train")
    test = np.flatnonzero(images["part"] == "test")
    share = min(1.0, CIFAR_TRAIN_IMAGES / len(train))
    chosen, _ = split_by_group(
        images["group"].to_numpy(dtype=str)[train],
        images["label"].to_numpy()[train],
        (share, 1 - share),
        generator=numpy_generator(seed, "images"),
    )
    return np.concatenate([train[chosen], test]), np.arange(len(chosen))


def _choose_ham10000(images: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All images; components from the training part of the seed's split by lesion."""
    return np.arange(len(images)), split_rows(images, seed)[0]


def _choose_galaxies(images: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All galaxies; components from the training part of the seed's split."""
    return np.arange(len(images)), voted_images.split_rows(images, seed)[0]


RECIPES = {
    "cifar10": BankRecipe(
        name=cifar10.NAME,
        list_images=cifar10.list_images,
        choose=_choose_cifar10,
        image_size=(192, 192),
        class_names=cifar10.CLASS_NAMES,
        licence=cifar10.LICENCE,
        source=cifar10.SOURCE,
    ),
    "ham10000": BankRecipe(
        name=ham10000.NAME,
        list_images=ham10000.list_images,
        choose=_choose_ham10000,
        image_size=(150, 200),
        class_names=ham10000.CLASS_NAMES,
        licence=ham10000.LICENCE,
        source=ham10000.SOURCE,
    ),
    "galaxy_zoo": BankRecipe(
        name=galaxy_zoo.NAME,
        list_images=galaxy_zoo.list_images,
        choose=_choose_galaxies,
        image_size=(224, 224),
        class_names=galaxy_zoo.CLASS_NAMES,
        licence=galaxy_zoo.LICENCE,
        source=galaxy_zoo.SOURCE,
        num_components=32,
        voted=True,
    ),
}
