"""A small residual network of nine layers, quick to train on a CPU; the kind is known as ResNet-9."""

from itertools import pairwise

from torch import Tensor, nn

from l2d_core.models.head import Float32Linear

WIDTHS = (24, 48, 96, 192)
MIN_SIZE = 8  # pixels: the image is halved three times


def small_resnet(num_outputs: int, image_shape: tuple[int, ...]) -> nn.Module:
    """Convolutions of 24 channels, then of 48, 96 and 192, each max-pooled to half the size; 1.1 M parameters.

    Takes images (B, C, H, W) of image_shape (C, H, W), H and W at least 8; gives (B, num_outputs) float32.
    ValueError on smaller images.
    """
    if min(image_shape[1:]) < MIN_SIZE:
        raise ValueError(f"image_shape must be at least {MIN_SIZE} x {MIN_SIZE} for small_resnet, got {image_shape}")
    layers: list[nn.Module] = [_conv_norm_relu(image_shape[0], WIDTHS[0])]
    for channels, out in pairwise(WIDTHS):
        layers += [_conv_norm_relu(channels, out), nn.MaxPool2d(2), _Residual(out)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), Float32Linear(WIDTHS[-1], num_outputs)]
    return nn.Sequential(*layers, *head)


class _Residual(nn.Module):
    """Two convolutions, added to the input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(_conv_norm_relu(channels, channels), _conv_norm_relu(channels, channels))

    def forward(self, images: Tensor) -> Tensor:
        return images + self.inner(images)


def _conv_norm_relu(channels: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, 3, padding=1, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU(inplace=True),
    )
