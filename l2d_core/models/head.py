"""The last layer of a network: logits in float32, whatever the precision of the layers before it."""

import torch
from torch import Tensor, nn


class Float32Linear(nn.Linear):
    """A linear layer that leaves autocast: in bfloat16 two logits are often equal, and a tie decides who decides.

    Takes features (B, F) in any floating type; gives (B, out) float32.
    """

    def forward(self, input: Tensor) -> Tensor:
        with torch.autocast(input.device.type, enabled=False):
            return super().forward(input.float())
