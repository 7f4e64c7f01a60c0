"""The softmax surrogate of Mozannar and Sontag (2020): one softmax over the classes and the experts."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from l2d_core.surrogates.surrogate import Surrogate, check_batch, check_logits, in_float32_or_better

MAX_LOG_ODDS = 709.0  # exp(709) is about 8e307; exp(710) is no longer a float64


def loss(logits: Tensor, labels: Tensor, expert_correct: Tensor, *, alpha: float = 1.0) -> Float[Tensor, " N"]:
    """Cross-entropy of one softmax with a target for the class and one for each expert that is right.

    -w ln p_y - sum_j 1[m_j = y] ln p_{K+j},  p = softmax over all K+J logits,
    w = alpha where any expert is right, else 1. Only alpha = 1 is consistent.

    logits (N, K+J), labels (N,), expert_correct (N, J) bool; returns (N,) nats.
    ValueError on shapes that do not fit, labels out of range (see check_batch), or an alpha below 0.
    Source: Mozannar and Sontag 2020; several experts: Verma, Barrejon and Nalisnick 2023.
    """
    check_batch(logits, labels, expert_correct)
    _check_alpha(alpha)
    num_classes = logits.shape[1] - expert_correct.shape[1]
    # Across cases, not across a few classes: torch then works in whole vectors, 4 times as fast.
    log_p = torch.log_softmax(in_float32_or_better(logits).T.contiguous(), dim=0)
    class_term = log_p[:num_classes].gather(0, labels.long()[None])[0]
    if alpha != 1:
        class_term = torch.where(expert_correct.any(dim=1), alpha * class_term, class_term)
    expert_terms = log_p[num_classes:].masked_fill(~expert_correct.T, 0.0)
    return -(class_term + expert_terms.sum(dim=0))


def gradient(logits: Tensor, labels: Tensor, expert_correct: Tensor, *, alpha: float = 1.0) -> Tensor:
    """The gradient of `loss` with respect to the logits, in closed form.

    (w + sum_j c_j) p - w e_y - sum_j c_j e_{K+j},  c_j = 1[m_j = y], e_i unit vectors, w and p as in `loss`.

    Arguments as in `loss`, with any axes before the last: logits (..., K+J) in float32 or float64,
    labels (...) int64, expert_correct (..., J) bool; returns (..., K+J). The tensors are trusted, not
    checked. ValueError on a bad alpha. Fast where the last axis is not the innermost in memory.
    """
    _check_alpha(alpha)
    right = expert_correct.to(logits.dtype)
    weight = torch.where(expert_correct.any(dim=-1), alpha, 1.0).to(logits.dtype)
    slope = (logits - logits.amax(dim=-1, keepdim=True)).exp_()
    slope.mul_(((weight + right.sum(dim=-1)) / slope.sum(dim=-1)).unsqueeze(-1))
    slope.scatter_add_(-1, labels.unsqueeze(-1), -weight.unsqueeze(-1))
    slope[..., -right.shape[-1] :] -= right
    return slope


def class_probability(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N K"]:
    """P(y|x) by class: p_k / (1 - p_d), which is the softmax over the K class logits alone.

    logits (N, K+J); returns (N, K) float64, each row sums to 1. ValueError on NaN, infinity or a wrong shape.
    """
    return torch.softmax(check_logits(logits, num_experts)[:, :-num_experts], dim=1)


def probabilities(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N width"]:
    """The softmax over all K+J logits; logits (N, K+J). ValueError on NaN, infinity or a wrong shape."""
    return torch.softmax(check_logits(logits, num_experts), dim=1)


def odds(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N J"]:
    """P(an expert is right) as odds: right at the optimum, but above 1 wherever p_d > 1/2.

    p_{K+j} / (1 - sum of the experts' p) = exp(g_{K+j} - ln sum_k e^{g_k}).

    logits (N, K+J); returns (N, J) float64, at least 0, never clipped to 1. It saturates at e^709, about
    8e307, and so stays finite. ValueError on NaN, infinity or a wrong shape.
    Source: Verma and Nalisnick 2022.
    """
    logits = check_logits(logits, num_experts)
    log_odds = logits[:, -num_experts:] - logits[:, :-num_experts].logsumexp(dim=1, keepdim=True)
    return log_odds.clamp(max=MAX_LOG_ODDS).exp()


def proxy(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N J"]:
    """The experts' share of the softmax, p_{K+j}: in (0, 1), but not calibrated.

    For one expert it is P / (1 + P) at the optimum, with P = P(m=y|x): never above 1/2.

    logits (N, K+J); returns (N, J) float64. ValueError on NaN, infinity or a wrong shape.
    Source: Verma and Nalisnick 2022.
    """
    return probabilities(logits, num_experts)[:, -num_experts:]


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha must be finite and at least 0, got {alpha}")


SOFTMAX = Surrogate(
    name="softmax",
    title="Softmax",
    reference="Mozannar and Sontag 2020, Consistent Estimators for Learning to Defer to an Expert",
    loss=loss,
    gradient=gradient,
    class_probability=class_probability,
    probabilities=probabilities,
    estimators={"odds": odds, "proxy": proxy},
    is_bounded={"odds": False, "proxy": True},
    is_consistent=True,
    options={"alpha": 1.0},
    formula=r"-\ln p_y - \sum_j \mathbb{1}[m_j = y]\, \ln p_{K+j},"
    r" \quad p = \mathrm{softmax}(g_1, \dots, g_{K+J})",
    caveats=(
        "The odds estimate is above 1 wherever p_d is above 1/2; every such case is deferred.",
        "The proxy is P/(1+P) at the optimum, so it cannot be calibrated.",
        "Consistent only with alpha = 1.",
        "With several experts the error of one spreads to the estimates for all.",
    ),
)
