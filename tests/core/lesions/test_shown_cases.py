"""What is shown as evidence: the map's plane, the gallery of test cases, and cells whose blurring moves a score."""

import io

import numpy as np
import pytest
import torch
from made_lesion_system import made_bank, made_gallery
from made_lesions import IGNORE_SIZE, NUM_IMAGES, write_lesions
from PIL import Image

from l2d_core.lesions.gallery import COLUMNS, HEIGHT, WIDTH, Gallery, make_gallery
from l2d_core.lesions.networks import LesionNetwork
from l2d_core.lesions.occlusion import GRID, occlude
from l2d_core.lesions.plane import fit_plane


def test_the_plane_shows_the_directions_in_which_the_classes_differ_and_places_each_case_by_itself():
    bank = made_bank(np.random.default_rng(0), sizes=(40, 4_000, 50))  # the classes differ in the first feature only
    plane = fit_plane(bank)
    first = plane.axes[:, 0] / np.linalg.norm(plane.axes[:, 0])
    assert abs(first[0]) > 0.95
    test = bank.features[bank.parts == "test"].astype(np.float64)
    np.testing.assert_allclose(plane.place(test)[7], plane.place(test[7:8])[0])
    own = bank.labels[bank.parts == "validation"]
    spread = plane.place(bank.features[bank.parts == "validation"].astype(np.float64))
    means = np.array([spread[own == label].mean(axis=0) for label in range(7)])
    assert means[:, 0].std() > 3 * means[:, 1].std()


def test_the_cell_that_holds_the_cause_is_the_one_that_moves_the_score():
    def look_at_the_corner(batch):  # the score is the red at the top right, less the red at the bottom left
        up, down = batch[:, 0, :25, 175:].mean(dim=(1, 2)), batch[:, 0, 125:, :25].mean(dim=(1, 2))
        return batch.mean(dim=(2, 3)), batch.mean(dim=(2, 3)), torch.stack([up - down, torch.zeros_like(up)], dim=1)

    image = torch.zeros(3, 150, 200)
    image[0, :25, 175:] = 1.0
    image[0, 125:, :25] = 1.0
    falls = occlude(LesionNetwork(look_at_the_corner, (150, 200)), image)
    assert falls.shape == (2, *GRID)
    assert np.unravel_index(falls[0].argmax(), GRID) == (0, 7)
    assert np.unravel_index(falls[0].argmin(), GRID) == (5, 0)
    assert falls[0].argmin() != falls[0].argmax()
    assert (np.abs(falls[0]) > 0.05).sum() == 2  # no other cell moves it
    assert (falls[1] == 0).all()


def middle(jpeg):
    return np.asarray(Image.open(io.BytesIO(jpeg)))[HEIGHT // 2, WIDTH // 2].astype(int)


@pytest.mark.filterwarnings(IGNORE_SIZE)
def test_the_gallery_shows_each_image_under_its_own_id_and_comes_back_from_its_files(tmp_path):
    ids = [f"ISIC_{number:07d}" for number in range(NUM_IMAGES - 1, 0, -1)]
    gallery = make_gallery(write_lesions(tmp_path), ids)
    gallery.save(tmp_path)
    loaded = Gallery.load(tmp_path)
    assert loaded.cases["id"].tolist() == ids
    for row in (0, 1, COLUMNS - 1, COLUMNS, len(ids) - 1):
        number = int(ids[row].removeprefix("ISIC_"))
        assert np.abs(middle(loaded.thumbnail(row)) - (3 * number, 10, 250)).max() < 12
        assert loaded.cases["lesion"][row] == f"HAM_{number // 2:07d}"
    assert loaded.cases.set_index("id").loc["ISIC_0000009", "age"] == "unknown"


def test_a_sprite_of_other_test_cases_is_refused():
    gallery = made_gallery(np.random.default_rng(0), [f"{row}" for row in range(50)])
    with pytest.raises(ValueError, match="the sprite of 10 test cases must have size"):
        Gallery(gallery.cases.head(10), gallery.sprite)
