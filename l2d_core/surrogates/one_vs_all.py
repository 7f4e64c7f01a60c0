"""The one-vs-all surrogate of Verma and Nalisnick (2022): one binary problem per class and per expert."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional

from l2d_core.common.checks import require_known
from l2d_core.surrogates.surrogate import Surrogate, check_batch, check_logits, in_float32_or_better


def logistic(margin: Tensor) -> Tensor:
    """The log loss, phi(z) = ln(1 + e^-z), which is -ln sigmoid(z)."""
    return -functional.logsigmoid(margin)


def brier(margin: Tensor) -> Tensor:
    """The squared error of the probability, phi(z) = (1 - sigmoid(z))^2, which is sigmoid(-z)^2."""
    return torch.sigmoid(-margin).square()


# Each is a strictly proper loss of the probability sigmoid(z): they share the logistic link, so that one
# estimator is right for every phi. The exponential loss e^(-z/2) has that link too, but overflows in float32
# below z = -177.
PHIS: dict[str, Callable[[Tensor], Tensor]] = {"logistic": logistic, "brier": brier}


def loss(logits: Tensor, labels: Tensor, expert_correct: Tensor, *, phi: str = "logistic") -> Float[Tensor, " N"]:
    """K binary losses, "is it class k?", and one for each expert, "is the expert right?".

    phi(g_y) + sum_{k != y} phi(-g_k) + sum_j phi(g_{K+j}) if m_j = y else phi(-g_{K+j}).

    logits (N, K+J), labels (N,), expert_correct (N, J) bool; phi a name in `PHIS`.
    Returns (N,): nats for the logistic phi; one squared probability per logit, so at most K+J, for brier.
    ValueError on shapes that do not fit, labels out of range (see check_batch), or an unknown phi.
    Source: Verma and Nalisnick 2022; several experts: Verma, Barrejon and Nalisnick 2023.
    """
    check_batch(logits, labels, expert_correct)
    require_known("phi", phi, PHIS)
    logits = in_float32_or_better(logits)
    num_classes = logits.shape[1] - expert_correct.shape[1]
    sign = torch.full_like(logits, -1.0, requires_grad=False)
    sign.scatter_(1, labels.long()[:, None], 1.0)
    sign[:, num_classes:].masked_fill_(expert_correct, 1.0)
    return PHIS[phi](sign * logits).sum(dim=1)


def gradient(logits: Tensor, labels: Tensor, expert_correct: Tensor, *, phi: str = "logistic") -> Tensor:
    """The gradient of `loss` with respect to the logits, in closed form.

    With s = sigmoid(g) and t = 1 for the true class and for each expert that is right, else 0:
    s - t for the logistic phi; 2 (s - t) s (1 - s) for brier, which is the squared error of s.

    Arguments as in `loss`, with any axes before the last: logits (..., K+J) in float32 or float64,
    labels (...) int64, expert_correct (..., J) bool; returns (..., K+J). The tensors are trusted, not
    checked. ValueError on an unknown phi. Fast where the last axis is not the innermost in memory.
    """
    require_known("phi", phi, PHIS)
    probability = torch.sigmoid(logits)
    slope = probability.clone() if phi == "brier" else probability
    slope.scatter_add_(-1, labels.unsqueeze(-1), slope.new_full((), -1.0).expand(*labels.shape, 1))
    slope[..., -expert_correct.shape[-1] :] -= expert_correct.to(slope.dtype)
    return slope * 2 * probability * (1 - probability) if phi == "brier" else slope


def class_probability(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N K"]:
    """P(y|x) by class: sigmoid(g_k), each from its own binary problem, so that rows need not sum to 1.

    logits (N, K+J); returns (N, K) float64 in [0, 1]. ValueError on NaN, infinity or a wrong shape.
    """
    return probabilities(logits, num_experts)[:, :-num_experts]


def probabilities(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N width"]:
    """The sigmoid of each of the K+J logits; logits (N, K+J). ValueError on NaN, infinity or a wrong shape."""
    return torch.sigmoid(check_logits(logits, num_experts))


def sigmoid(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N J"]:
    """P(an expert is right): sigmoid(g_{K+j}), in [0, 1] for any logits and for every phi in `PHIS`.

    logits (N, K+J); returns (N, J) float64. ValueError on NaN, infinity or a wrong shape.
    Source: Verma and Nalisnick 2022.
    """
    return probabilities(logits, num_experts)[:, -num_experts:]


ONE_VS_ALL = Surrogate(
    name="one_vs_all",
    title="One-vs-all",
    reference="Verma and Nalisnick 2022, Calibrated Learning to Defer with One-vs-All Classifiers",
    loss=loss,
    gradient=gradient,
    class_probability=class_probability,
    probabilities=probabilities,
    estimators={"sigmoid": sigmoid},
    is_bounded={"sigmoid": True},
    is_consistent=True,
    options={"phi": "logistic"},
    formula=r"\phi(g_y) + \sum_{k \ne y} \phi(-g_k) + \sum_j \phi\big(\pm g_{K+j}\big)"
    r" \text{ with } + \text{ where } m_j = y, \quad \phi(z) = \ln(1 + e^{-z})",
    caveats=(
        "The class probabilities come from K separate problems: they need not sum to 1.",
        "The brier phi is not convex: its gradient vanishes where a logit is far on the wrong side.",
    ),
)
