"""How much each training case counts, by how common its class is."""

import torch
from jaxtyping import Float32, Int
from torch import Tensor

from l2d_core.common.checks import require_known
from l2d_core.config import CLASS_WEIGHTS

_POWERS = {"none": 0.0, "sqrt": -0.5, "balanced": -1.0}


def case_weights(rule: str, labels: Int[Tensor, " N"]) -> Float32[Tensor, " N"]:
    """A weight a case, n^p with the n cases of its class, and p of 0 ("none"), -1/2 ("sqrt") or -1 ("balanced").

    Scaled to a mean of 1 over the cases, so that the size of the gradient, and the learning rate, stay as they are.
    labels (N,) integer, at least 0. ValueError on another rule.
    """
    require_known("class_weights", rule, CLASS_WEIGHTS)
    weights = torch.bincount(labels)[labels].double() ** _POWERS[rule]
    return (weights / weights.mean()).float()
