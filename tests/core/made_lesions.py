"""A small made-up HAM10000 for tests: 70 images of one colour each, 7 classes, 35 lesions with two images each."""

import pandas as pd
from PIL import Image

from l2d_core.datasets import ham10000

IGNORE_SIZE = "ignore:.* holds .* images of HAM10000"  # the warning that they are not all
NUM_IMAGES = 70
COLUMNS = ["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization"]
SITES = ("back", "face", "scalp")


def write_lesions(root):
    """ham10000/ under root; image n is of the colour (3 n, 10, 250), class n // 10 and lesion n // 2."""
    folder = root / "ham10000" / "images"
    folder.mkdir(parents=True)
    rows = []
    for number in range(NUM_IMAGES):
        name, label = f"ISIC_{number:07d}", number // 10
        Image.new("RGB", (40, 30), (number * 3, 10, 250)).save(folder / f"{name}.jpg", quality=100, subsampling=0)
        age = "" if number == 9 else str(20 + 10 * label)
        place = SITES[label % 3]
        rows.append((f"HAM_{number // 2:07d}", name, ham10000.CLASS_NAMES[label], "histo", age, "male", place))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(root / "ham10000" / "HAM10000_metadata.csv", index=False)
    return root
