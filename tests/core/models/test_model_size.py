"""An image as the model sees it: all of it, in its own shape, resized as the training images were."""

import numpy as np
import pytest
from made_images import encode, picture

from l2d_core.datasets.image_files import read_image
from l2d_core.images.opening import fitted_size, to_model_size


def test_an_image_with_the_aspect_of_the_frame_fills_it_as_the_training_images_do(tmp_path):
    pixels = picture(450, 600)
    small = to_model_size(pixels, 150, 200)
    path = tmp_path / "a.png"
    path.write_bytes(encode(pixels))
    trained = read_image(path, (150, 200))
    as_trained = read_image_of(small, tmp_path)
    np.testing.assert_allclose(as_trained, trained)
    np.testing.assert_array_equal(to_model_size(small, 150, 200), small)


def read_image_of(pixels, folder):
    path = folder / "b.png"
    path.write_bytes(encode(pixels))
    return read_image(path, pixels.shape[:2])


def test_another_aspect_gets_bars_and_is_neither_cropped_nor_distorted():
    square = np.full((100, 100, 3), (10, 20, 30), np.uint8)
    square[25:75, 25:75] = 200, 120, 100
    seen = to_model_size(square, 150, 200)
    assert seen.shape == (150, 200, 3)
    assert (seen[:, :25] == (10, 20, 30)).all(), "bars in the colour of the edge"
    assert (seen[:, 175:] == (10, 20, 30)).all()
    middle = (np.abs(seen.astype(int) - (200, 120, 100)).sum(axis=2) < 60).nonzero()
    height, width = (np.ptp(axis) + 1 for axis in middle)
    assert (height, width) == pytest.approx((75, 75), abs=1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (3000, 1), (451, 600), (7, 5)])
def test_any_shape_fits_the_frame(shape):
    assert to_model_size(picture(*shape), 150, 200).shape == (150, 200, 3)


def test_the_part_that_is_picture_keeps_its_aspect():
    assert fitted_size(450, 600, 150, 200) == (150, 200)
    assert fitted_size(600, 450, 150, 200) == (150, 112)
    assert fitted_size(100, 400, 150, 200) == (50, 200)
    assert fitted_size(1, 3000, 150, 200) == (1, 200)
