"""Shifts and reflections of batches: by hand, against padding and cutting, and their chances."""

import pytest
import torch
from torch.nn import functional

from l2d_core.config import AUGMENTATIONS
from l2d_core.training.augment import (
    LEAST_SIDE,
    MAX_BRIGHTER,
    MAX_FACTOR,
    MAX_SHIFT,
    apply_moves,
    draw_moves,
    move_images,
    vary_images,
)

STILL = torch.tensor([[1.0, 0, 0, 1, 1, 0, 1, 1]])  # of `vary_images`: all as it is
SHIFTS = ("none", "flip", "crop_flip")


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


@pytest.mark.parametrize("augment", SHIFTS)
def test_moving_a_batch_is_padding_and_cutting_each_image(augment):
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(40, 2, 9, 7, generator=generator)
    moves = draw_moves(augment, 40, generator=generator)
    expected = torch.stack([cut_from_padded(image, move) for image, move in zip(images, moves, strict=True)])
    assert torch.equal(move_images(images, moves), expected)
    assert torch.equal(apply_moves(images, moves), expected)


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


@pytest.mark.parametrize("augment", AUGMENTATIONS)
def test_a_seed_gives_the_same_moves_again(augment):
    first, second = (draw_moves(augment, 30, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)


def test_an_unknown_augmentation_lists_the_known_ones():
    with pytest.raises(
        ValueError, match="augment must be one of 'none', 'flip', 'crop_flip', 'crop_flip_colour'; got 'mixup'"
    ):
        draw_moves("mixup", 3, generator=torch.Generator())


def change(images, **changed):
    """`vary_images` with some of its numbers changed; columns by name."""
    names = ("side", "down", "right", "flip_rows", "flip_columns", "brighter", "contrast", "saturation")
    moves = STILL.repeat(len(images), 1)
    for name, value in changed.items():
        moves[:, names.index(name)] = value
    return vary_images(images, moves)


def some_images(size=(8, 12)):
    return torch.randn(3, 3, *size, generator=torch.Generator().manual_seed(1))


def test_a_variation_that_changes_nothing_gives_the_same_images():
    torch.testing.assert_close(change(some_images()), some_images(), rtol=0, atol=1e-5)


def test_reflections_are_those_of_the_two_axes():
    images = some_images()
    torch.testing.assert_close(change(images, flip_rows=-1), images.flip(2), rtol=0, atol=1e-5)
    torch.testing.assert_close(change(images, flip_columns=-1), images.flip(3), rtol=0, atol=1e-5)


def test_half_an_image_from_its_upper_left_corner_is_that_corner_enlarged():
    images = some_images()
    expected = functional.interpolate(images[:, :, :4, :6], size=(8, 12), mode="bilinear", align_corners=False)
    cut = change(images, side=0.5, down=-1, right=-1)
    # At the inner edges what is outside of the corner is seen too.
    torch.testing.assert_close(cut[:, :, :7, :11], expected[:, :, :7, :11], rtol=0, atol=1e-5)


def test_colours_change_as_computed_by_hand():
    image = torch.tensor([0.6, 0.0, 0.0]).view(1, 3, 1, 1).repeat(1, 1, 2, 2)
    image[..., 1] = 0.0  # a red column beside a black one; the greys are 0.2 and 0, the mean is 0.1
    torch.testing.assert_close(change(image, brighter=0.5), image + 0.5)
    red = change(image, saturation=0.5)[0, :, 0, 0]
    torch.testing.assert_close(red, torch.tensor([0.4, 0.1, 0.1]))
    both = change(image, contrast=0.5)[0, :, 0]
    torch.testing.assert_close(both, torch.tensor([[0.35, 0.05], [0.05, 0.05], [0.05, 0.05]]))


def test_variations_lie_in_their_ranges_and_fill_them():
    moves = draw_moves("crop_flip_colour", 20_000, generator=torch.Generator().manual_seed(0))
    ranges = [(LEAST_SIDE, 1), (-1, 1), (-1, 1), (-1, 1), (-1, 1), (-MAX_BRIGHTER, MAX_BRIGHTER)]
    ranges += [(1 - MAX_FACTOR, 1 + MAX_FACTOR)] * 2
    for column, (low, high) in zip(moves.unbind(1), ranges, strict=True):
        assert low - 1e-6 <= float(column.min()) <= low + 0.001 * (high - low)
        assert high - 0.001 * (high - low) <= float(column.max()) <= high + 1e-6
        assert abs(float(column.mean()) - (low + high) / 2) < 0.03 * (high - low)
    assert set(moves[:, 3:5].unique().tolist()) == {-1.0, 1.0}


def test_varied_images_keep_their_type_and_leave_those_that_came_in_alone():
    images = some_images()
    before = images.clone()
    moves = draw_moves("crop_flip_colour", 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(apply_moves(images, moves), vary_images(images, moves))
    assert torch.equal(images, before)
    assert vary_images(images.double(), moves).dtype == torch.float64
