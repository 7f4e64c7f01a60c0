"""Small galaxies for tests, drawn here: round blobs, spirals and streaks, with votes on them in both layouts."""

import numpy as np
from PIL import Image

KINDS = ("smooth", "featured", "artifact")
HEADER = "id,file,n_smooth,n_featured,n_artifact,p_smooth_debiased,p_featured_debiased,p_artifact"


def draw_galaxy(kind, size=40, seed=0):
    """A picture (size, size, 3) of bytes."""
    place = np.linspace(-1, 1, size)
    x, y = np.meshgrid(place, place)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    light = {
        "smooth": np.exp(-6 * radius**2),
        "featured": np.exp(-3 * radius**2) * (1 + np.cos(2 * angle - 9 * radius)) / 2,
        "artifact": np.exp(-200 * (y - 0.3 * x) ** 2),
    }[kind]
    noise = np.random.default_rng(seed).normal(0, 0.02, (size, size, 3))
    return (255 * np.clip(light[:, :, None] * [1, 0.9, 0.7] + noise, 0, 1)).astype(np.uint8)


def votes_on(number):
    """The counts of galaxy `number`: most say what it is, KINDS[number % 3], and some do not."""
    kind = number % 3
    counts = [2 + number % 2] * 3
    counts[kind] = 20 + number
    return counts


def save_galaxies(folder, count=30):
    """The layout with counts, gz2_votes.csv, under folder/galaxy_zoo."""
    home, rows = folder / "galaxy_zoo", [HEADER]
    (home / "images").mkdir(parents=True)
    for number in range(count):
        name = f"images/{1000 + number}.png"
        Image.fromarray(draw_galaxy(KINDS[number % 3], seed=number)).save(home / name)
        debiased = "0.1,0.8,0.1" if number % 3 == 0 else "0.7,0.2,0.1"
        rows.append(",".join([str(1000 + number), name, *map(str, votes_on(number)), debiased]))
    write(home / "gz2_votes.csv", rows)
    return folder


def save_as_kaggle(folder, count=12):
    """Kaggle's layout: 37 shares a galaxy, of which the first three sum to 1, under folder/galaxy_zoo."""
    home = folder / "galaxy_zoo"
    (home / "images_training_rev1").mkdir(parents=True)
    questions = (3, 2, 2, 2, 4, 2, 3, 7, 3, 3, 6)
    columns = [f"Class{q}.{answer}" for q, answers in enumerate(questions, 1) for answer in range(1, answers + 1)]
    rows = [",".join(["GalaxyID", *columns])]
    for number in range(count):
        Image.fromarray(draw_galaxy(KINDS[number % 3], seed=number)).save(
            home / "images_training_rev1" / f"{number}.jpg"
        )
        counts = np.array(votes_on(number))
        shares = [f"{share:.6f}" for share in counts / counts.sum()]
        rows.append(",".join([str(number), *shares, *["0.5"] * (len(columns) - 3)]))
    write(home / "training_solutions_rev1.csv", rows)
    return folder


def write(path, rows):
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
