"""What in a picture moves a score: each cell of a grid is blurred in turn, and the scores are computed anew.

Source: Zeiler and Fergus 2014, arXiv 1311.2901 (there cells are greyed out).
"""

from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor
from torch.nn import functional

from l2d_core.lesions.networks import LesionNetwork

GRID = (6, 8)  # rows and columns of cells
BLUR = 25  # pixels on each side over which a blurred pixel is a mean


def occlude(network: LesionNetwork, image: Float32[Tensor, "3 H W"]) -> Float32[np.ndarray, "S rows columns"]:
    """How much each of S logits falls when a cell of GRID is blurred: above 0, the cell speaks for that score."""
    height, width = image.shape[1:]
    blurred = functional.avg_pool2d(
        functional.pad(image[None], (BLUR,) * 4, mode="replicate"), 2 * BLUR + 1, stride=1, count_include_pad=False
    )[0]
    rows, columns = (
        np.linspace(0, size, count + 1).round().astype(int) for size, count in zip((height, width), GRID, strict=True)
    )
    hidden = []
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            one = image.clone()
            one[:, top:bottom, left:right] = blurred[:, top:bottom, left:right]
            hidden.append(one)
    logits = network.score(torch.stack([image, *hidden]))[2]
    return (logits[0] - logits[1:]).T.reshape(-1, *GRID).astype(np.float32)
