"""Shifts and reflections of batches: by hand, against padding and cutting, and their chances."""

import pytest
import torch
from torch.nn import functional

from l2d_core.augment import MAX_SHIFT, draw_moves, move_images
from l2d_core.config import AUGMENTATIONS


def cut_from_padded(image, move):
    """The slow twin: reflect one image, pad it with zeros, cut a window out of it."""
    down, right, flip = move.tolist()
    image = image.flip(2) if flip else image
    top, left = MAX_SHIFT - down, MAX_SHIFT - right
    padded = functional.pad(image, (MAX_SHIFT,) * 4)
    return padded[:, top : top + image.shape[1], left : left + image.shape[2]]


def test_a_picture_moves_as_computed_by_hand():
    image = torch.tensor([[[[1.0, 2, 3], [4, 5, 6]]]])
    down_and_right = move_images(image, torch.tensor([[1, 1, 0]]))
    assert down_and_right.tolist() == [[[[0, 0, 0], [0, 1, 2]]]]
    reflected = move_images(image, torch.tensor([[0, 0, 1]]))
    assert reflected.tolist() == [[[[3, 2, 1], [6, 5, 4]]]]
    reflected_then_left = move_images(image, torch.tensor([[0, -1, 1]]))
    assert reflected_then_left.tolist() == [[[[2, 1, 0], [5, 4, 0]]]]


@pytest.mark.parametrize("augment", AUGMENTATIONS)
def test_moving_a_batch_is_padding_and_cutting_each_image(augment):
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(40, 2, 9, 7, generator=generator)
    moves = draw_moves(augment, 40, generator=generator)
    expected = torch.stack([cut_from_padded(image, move) for image, move in zip(images, moves, strict=True)])
    assert torch.equal(move_images(images, moves), expected)


def test_images_smaller_than_the_shift_may_move_out_of_sight():
    moved = move_images(torch.ones(1, 1, 2, 2), torch.tensor([[4, 0, 0]]))
    assert moved.sum() == 0


def test_the_images_that_came_in_stay_as_they_are():
    images = torch.arange(12.0).view(1, 1, 3, 4)
    move_images(images, torch.tensor([[1, 2, 1]]))
    assert torch.equal(images, torch.arange(12.0).view(1, 1, 3, 4))


def test_all_shifts_and_both_reflections_are_equally_likely():
    moves = draw_moves("crop_flip", 90_000, generator=torch.Generator().manual_seed(0))
    for axis in (0, 1):
        counts = torch.bincount(moves[:, axis] + MAX_SHIFT)
        assert len(counts) == 2 * MAX_SHIFT + 1
        assert (counts - 10_000).abs().max() < 500  # 5 standard deviations
    assert abs(moves[:, 2].float().mean() - 0.5) < 0.01


def test_flip_does_not_shift_and_none_does_not_move():
    flips = draw_moves("flip", 100, generator=torch.Generator().manual_seed(0))
    assert (flips[:, :2] == 0).all()
    assert set(flips[:, 2].tolist()) == {0, 1}
    assert (draw_moves("none", 100, generator=torch.Generator()) == 0).all()


def test_a_seed_gives_the_same_moves_again():
    first, second = (draw_moves("crop_flip", 30, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)


def test_an_unknown_augmentation_lists_the_known_ones():
    with pytest.raises(ValueError, match="augment must be one of 'none', 'flip', 'crop_flip'; got 'mixup'"):
        draw_moves("mixup", 3, generator=torch.Generator())
