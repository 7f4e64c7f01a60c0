"""The wide residual network of Zagoruyko and Komodakis (2016), arXiv 1605.07146, for small images."""

from torch import Tensor, nn
from torch.nn import functional

from l2d_core.common.checks import brief
from l2d_core.models.head import Float32Linear

MAX_DEPTH = 10_000


def wide_resnet(num_outputs: int, image_shape: tuple[int, ...], *, depth: int = 28, width: int = 4) -> nn.Module:
    """WRN-depth-width, pre-activation, no dropout; 28-4, as in the paper's CIFAR-10 experiments, has 5.9 M parameters.

    Takes images (B, C, H, W) of image_shape (C, H, W); gives (B, num_outputs) float32.
    ValueError unless depth is 10, 16, 22, 28, ... and width at least 1.
    """
    if not 10 <= depth <= MAX_DEPTH or (depth - 4) % 6:
        raise ValueError(f"depth must be 6 n + 4 (10, 16, 22, 28, ...), at most {MAX_DEPTH:,}, got {brief(depth)}")
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}")
    blocks_a_group = (depth - 4) // 6
    layers: list[nn.Module] = [_conv(image_shape[0], 16)]
    channels = 16
    for group, stride in enumerate((1, 2, 2)):
        out = 16 * width * 2**group
        for place in range(blocks_a_group):
            layers.append(_Block(channels if place == 0 else out, out, stride if place == 0 else 1))
        channels = out
    network = nn.Sequential(
        *layers,
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        Float32Linear(channels, num_outputs),
    )
    network.apply(_start)
    return network


class _Block(nn.Module):
    """Two times batch norm, ReLU, convolution; added to the input, or to its projection where the shape changes."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), _conv(channels, out, stride)
        self.norm2, self.conv2 = nn.BatchNorm2d(out), _conv(out, out)
        self.project = nn.Conv2d(channels, out, 1, stride, bias=False) if channels != out or stride != 1 else None

    def forward(self, images: Tensor) -> Tensor:
        active = functional.relu(self.norm1(images), inplace=True)
        shortcut = images if self.project is None else self.project(active)
        inner = functional.relu(self.norm2(self.conv1(active)), inplace=True)
        return shortcut + self.conv2(inner)


def _conv(channels: int, out: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)


def _start(module: nn.Module) -> None:
    """He's rule for convolutions; batch norm starts as the identity, the last layer's bias at 0."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
