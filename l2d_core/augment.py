"""Augmentation of whole batches of images: shifts by a few pixels, and reflections from left to right.

Random numbers are drawn on the CPU, for a whole epoch at once; the images are moved where they are. So a seed
gives the same augmentation on every device.
"""

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from l2d_core.checks import require_known
from l2d_core.config import AUGMENTATIONS

MAX_SHIFT = 4  # pixels, up or down and to either side


def draw_moves(augment: str, num_images: int, *, generator: torch.Generator) -> Int64[Tensor, "N 3"]:
    """How each image is to be moved: pixels down, pixels to the right, and 1 where it is reflected.

    augment: "none" (all 0), "flip" (reflected with probability 1/2) or "crop_flip" (shifted by -4..4 pixels on
    each axis too, all equally likely). Returns (N, 3) on the CPU. ValueError on another name.
    """
    require_known("augment", augment, AUGMENTATIONS)
    moves = torch.zeros(num_images, 3, dtype=torch.int64)
    if augment != "none":
        moves[:, 2] = torch.randint(2, (num_images,), generator=generator)
    if augment == "crop_flip":
        moves[:, :2] = torch.randint(-MAX_SHIFT, MAX_SHIFT + 1, (num_images, 2), generator=generator)
    return moves


def move_images(images: Float[Tensor, "B C H W"], moves: Int[Tensor, "B 3"]) -> Float[Tensor, "B C H W"]:
    """Each image reflected where its move says so, then shifted; pixels from outside are 0.

    That is the usual padding with zeros, crop and flip: the result is the same as of cutting (H, W) out of the
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


def _within(places: Tensor, size: int) -> Tensor:
    return (places >= 0) & (places < size)
