"""Makes the ten photographs of the lesson, `pretrained/photographs.png`: python -m app.learn.make_photographs DIR.

DIR holds cifar10/test, as a folder of images for each class. One test image of each class is drawn at random.
"""

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from app.learn.machine import IDS, SIDE, SPRITE
from app.learn.numbers import PHOTOS
from l2d_core.datasets import cifar10
from l2d_core.runs.folder import open_run

SEED = 0


def draw_ids() -> list[str]:
    """The id of one test image of each class, in random order."""
    test, rng = open_run(PHOTOS).test, np.random.default_rng(SEED)
    ids = [rng.choice(test.ids[test.labels == label]) for label in range(test.num_classes)]
    return [str(one) for one in rng.permutation(ids)]


def main(root: Path) -> None:
    """Write the images side by side, and their ids with source and licence."""
    ids, sprite = draw_ids(), Image.new("RGB", (SIDE * 10, SIDE))
    for place, name in enumerate(ids):
        (path,) = (root / "cifar10").glob(f"{name}.*")
        sprite.paste(Image.open(path).convert("RGB"), (SIDE * place, 0))
    sprite.save(SPRITE, optimize=True)
    about = {"ids": ids, "source": cifar10.SOURCE, "licence": cifar10.LICENCE}
    IDS.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(f"{SPRITE.name}: {SPRITE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
