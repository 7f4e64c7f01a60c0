"""Kim's convolutional network for sentences, on word vectors that stay as they are."""

import torch
from torch import Tensor, nn

from l2d_core.models.head import Float32Linear

WIDTHS = (3, 4, 5)  # words


def text_cnn(num_outputs: int, image_shape: tuple[int, ...], *, filters: int = 100, dropout: float = 0.5) -> nn.Module:
    """Filters over 3, 4 and 5 words in a row, the largest response of each over the sentence, dropout, a last layer.

    Takes word vectors (B, D, T) of image_shape (D, T), T at least 5; gives (B, num_outputs) float32.
    filters: of each width. dropout: the share of responses that are 0 in a training step.
    ValueError on other shapes, and on options out of range. Source: Kim 2014, arXiv 1408.5882, "CNN-static".
    """
    if len(image_shape) != 2 or image_shape[1] < WIDTHS[-1]:
        raise ValueError(
            f"image_shape must be (D, T) for text_cnn, D numbers for each of T >= {WIDTHS[-1]} words, got {image_shape}"
        )
    if filters < 1 or not 0 <= dropout < 1:
        raise ValueError(f"filters must be at least 1 and dropout in 0..1, below 1, got {filters} and {dropout}")
    return nn.Sequential(
        _Filters(image_shape[0], filters), nn.Dropout(dropout), Float32Linear(filters * len(WIDTHS), num_outputs)
    )


class _Filters(nn.Module):
    """Each filter's largest response over the sentence, rectified: (B, D, T) -> (B, 3 F)."""

    def __init__(self, dimensions: int, filters: int) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(dimensions, filters, width) for width in WIDTHS)

    def forward(self, vectors: Tensor) -> Tensor:
        # A rectifier before or after the largest is the same.
        return torch.cat([layer(vectors).amax(dim=2) for layer in self.filters], dim=1).relu()
