"""The paper's expert for HAM10000: an MLP-Mixer that also sees who the patient is, in its last layer."""

import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from l2d_core.models.head import Float32Linear

PATCH_SIZE = 16  # pixels
NUM_BLOCKS = 8
NUM_FEATURES = 128
EXPANSION = 2  # of the hidden layers, in features


class MixerExpert(nn.Module):
    """Patches of 16 x 16 pixels through eight mixer blocks to 128 features, then one layer on those and metadata.

    num_metadata: how many numbers there are of each patient. ValueError unless height and width of image_size are
    multiples of 16. ImportError where timm is not installed. Source: Tolstikhin and others 2021, arXiv 2105.01601.
    """

    def __init__(self, num_classes: int, image_size: tuple[int, int], num_metadata: int) -> None:
        super().__init__()
        if any(pixels < PATCH_SIZE or pixels % PATCH_SIZE for pixels in image_size):
            raise ValueError(f"image_size must be multiples of {PATCH_SIZE} pixels, got {tuple(image_size)}")
        self.mixer = _make_mixer(image_size)
        self.head = Float32Linear(NUM_FEATURES + num_metadata, num_classes)

    def forward(self, images: Float[Tensor, "B 3 H W"], metadata: Float[Tensor, "B M"]) -> Float32[Tensor, "B K"]:
        """Logits of the classes; images scaled as by `read_image`, metadata as by `metadata_features`."""
        features = self.mixer(images)
        return self.head(torch.cat([features.float(), metadata], dim=1))


def _make_mixer(image_size: tuple[int, int]) -> nn.Module:
    try:
        from timm.models.mlp_mixer import MlpMixer
    except ImportError as problem:
        raise ImportError("the expert network needs timm: pip install timm") from problem
    return MlpMixer(
        num_classes=0,
        img_size=image_size,  # pyright: ignore[reportArgumentType]
        patch_size=PATCH_SIZE,
        num_blocks=NUM_BLOCKS,
        embed_dim=NUM_FEATURES,
        mlp_ratio=EXPANSION,
    )
