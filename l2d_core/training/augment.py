"""Augmentation of whole batches of images: shifts, cuts, reflections and changes of colour.

Random numbers are drawn on the CPU, for a whole epoch at once; the images are changed where they are. So a seed
gives the same augmentation on every device.
"""

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor
from torch.nn import functional

from l2d_core.common.checks import require_known
from l2d_core.config import AUGMENTATIONS

MAX_SHIFT = 4  # pixels, up or down and to either side
LEAST_SIDE = 0.8  # of what "crop_flip_colour" cuts out, in sides of the image
MAX_BRIGHTER = 0.1  # in units of the images; standardised by mean and deviation, or from -1 to 1
MAX_FACTOR = 0.2  # of contrast and saturation, to either side of 1


def draw_moves(augment: str, num_images: int, *, generator: torch.Generator) -> Num[Tensor, "N M"]:
    """How each image is to be changed, on the CPU; `apply_moves` does it.

    augment: "none" (all 0), "flip" (reflected with probability 1/2) or "crop_flip" (shifted by -4..4 pixels on each
    axis too, all equally likely): (N, 3) int64, pixels down, pixels to the right, and 1 where it is reflected.
    "crop_flip_colour": (N, 8) float32, as in `vary_images`; sides of 0.8..1, places within the image, and changes of
    colour, all uniform; each reflection with probability 1/2. ValueError on another name.
    """
    require_known("augment", augment, AUGMENTATIONS)
    if augment == "crop_flip_colour":
        return _draw_variations(num_images, generator)
    moves = torch.zeros(num_images, 3, dtype=torch.int64)
    if augment != "none":
        moves[:, 2] = torch.randint(2, (num_images,), generator=generator)
    if augment == "crop_flip":
        moves[:, :2] = torch.randint(-MAX_SHIFT, MAX_SHIFT + 1, (num_images, 2), generator=generator)
    return moves


def apply_moves(images: Float[Tensor, "B C H W"], moves: Num[Tensor, "B M"]) -> Float[Tensor, "B C H W"]:
    """Each image changed as its row of `draw_moves` says: `vary_images` for floats, `move_images` for whole numbers."""
    return vary_images(images, moves) if moves.is_floating_point() else move_images(images, moves)


def move_images(images: Float[Tensor, "B C H W"], moves: Int[Tensor, "B 3"]) -> Float[Tensor, "B C H W"]:
    """Each image reflected where its move says so, then shifted; pixels from outside are 0.

    That is the usual padding with zeros, crop and flip: the result is the same as that of cutting (H, W) out of the
    padded image. images (B, C, H, W), moves (B, 3) of `draw_moves`, on one device; returns new images.
    """
    height, width = images.shape[2:]
    down, right, flip = moves.unsqueeze(-1).unbind(1)
    rows = torch.arange(height, device=images.device) - down
    columns = torch.arange(width, device=images.device) - right
    is_inside = _within(rows, height)[:, :, None] & _within(columns, width)[:, None, :]
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    columns = torch.where(flip > 0, width - 1 - columns, columns)
    source = (rows[:, :, None] * width + columns[:, None, :]).flatten(1)[:, None]
    moved = images.flatten(2).gather(2, source.expand(-1, images.shape[1], -1))
    return moved.view_as(images) * is_inside[:, None]


def vary_images(images: Float[Tensor, "B C H W"], moves: Float[Tensor, "B 8"]) -> Float[Tensor, "B C H W"]:
    """A part cut out of each image and enlarged to its size, reflected, then changed in colour.

    moves (B, 8): the side of the part, in sides of the image; its centre down and to the right, from -1 to 1 for as far
    as it can go; -1 where it is reflected top to bottom, else 1; the same left to right; what is added (brightness);
    and the factors on what differs from the image's mean (contrast) and from each pixel's grey (saturation).
    Bilinear; values are not cut off. Returns new images in their type.
    """
    cut = _cut(images, *moves[:, :5].unbind(1))
    brighter, contrast, saturation = moves[:, 5:, None, None, None].to(cut.dtype).unbind(1)
    grey = cut.mean(1, keepdim=True)
    mean = grey.mean((2, 3), keepdim=True)
    # In place, as these are most of the memory that is read and written: mean + contrast (grey + saturation (x - grey)
    # - mean) + brighter.
    return cut.mul_(contrast * saturation).add_(contrast * (1 - saturation) * grey + (1 - contrast) * mean + brighter)


def _cut(images: Tensor, side: Tensor, down: Tensor, right: Tensor, flip_rows: Tensor, flip_columns: Tensor) -> Tensor:
    zero = torch.zeros_like(side)
    room = 1 - side
    across = torch.stack([side * flip_columns, zero, room * right], dim=1)
    along = torch.stack([zero, side * flip_rows, room * down], dim=1)
    places = functional.affine_grid(torch.stack([across, along], dim=1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, places.to(images.dtype), padding_mode="border", align_corners=False)


def _draw_variations(num_images: int, generator: torch.Generator) -> Tensor:
    moves = torch.rand(num_images, 8, generator=generator) * 2 - 1
    moves[:, 0] = 1 - (1 - LEAST_SIDE) * (moves[:, 0] + 1) / 2
    moves[:, 3:5] = torch.where(moves[:, 3:5] < 0, -1.0, 1.0)
    moves[:, 5] *= MAX_BRIGHTER
    moves[:, 6:] = 1 + MAX_FACTOR * moves[:, 6:]
    return moves


def _within(places: Tensor, size: int) -> Tensor:
    return (places >= 0) & (places < size)
