"""The asymmetric softmax surrogate of Cao and others (2023): the expert's estimate is bounded by 1."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional

from l2d_core.surrogates.surrogate import Surrogate, check_batch, check_logits, in_float32_or_better


def loss(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> Float[Tensor, " N"]:
    """Cross-entropy over the classes, plus a binary one for "the expert is right".

    -ln a_y - 1[m=y] ln a_d - 1[m!=y] ln(1 - a_d), with
    a_k = e^{g_k} / sum over the K classes, a_d = e^{g_d} / (sum over all K+1 - max_k e^{g_k}).

    Computed without a division: a_d = sigmoid(g_d - R), R = ln sum of e^{g_k} over all classes but the best.

    logits (N, K+1), labels (N,), expert_correct (N, 1) bool; returns (N,) nats.
    ValueError on more than one expert, shapes that do not fit, or labels out of range (see check_batch).
    Source: Cao, Mozannar, Feng, Wei and An 2023.
    """
    check_batch(logits, labels, expert_correct)
    _check_one_expert(expert_correct.shape[1])
    columns = in_float32_or_better(logits).T.contiguous()  # classes first: torch then works in whole vectors
    class_term = torch.log_softmax(columns[:-1], dim=0).gather(0, labels.long()[None])[0]
    margin = _expert_logit(columns)
    return -(class_term + functional.logsigmoid(torch.where(expert_correct[:, 0], margin, -margin)))


def gradient(logits: Tensor, labels: Tensor, expert_correct: Tensor) -> Tensor:
    """The gradient of `loss` with respect to the logits, in closed form.

    a_d - 1[m=y] on g_d; on the classes softmax_K - e_y, plus (1[m=y] - a_d) times the softmax over all of
    them but the best.

    Arguments as in `loss`, with any axes before the last: logits (..., K+1) in float32 or float64,
    labels (...) int64, expert_correct (..., 1) bool; returns (..., K+1). The tensors are trusted, not
    checked. Fast where the last axis is not the innermost in memory.
    """
    classes = logits[..., :-1]
    top, best = classes.max(dim=-1, keepdim=True)
    weight = (classes - top).exp_()
    rest = classes.scatter(-1, best, float("-inf"))
    second = rest.amax(dim=-1, keepdim=True)
    rest = rest.sub_(second).exp_()
    rest_sum = rest.sum(dim=-1, keepdim=True)
    miss = torch.sigmoid(logits[..., -1:] - second - rest_sum.log()) - expert_correct.to(logits.dtype)
    slope = torch.empty_like(logits)
    slope[..., :-1] = weight / weight.sum(dim=-1, keepdim=True) - rest * (miss / rest_sum)
    slope[..., -1:] = miss
    return slope.scatter_add_(-1, labels.unsqueeze(-1), slope.new_full((), -1.0).expand(*labels.shape, 1))


def class_probability(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N K"]:
    """P(y|x) by class: the softmax over the K class logits.

    logits (N, K+1); returns (N, K) float64, each row sums to 1. ValueError on NaN, infinity or a wrong shape.
    """
    _check_one_expert(num_experts)
    return torch.softmax(check_logits(logits, num_experts)[:, :-1], dim=1)


def probabilities(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N width"]:
    """a_1..a_K, the softmax over the K class logits, and then a_d; a_d >= max_k a_k exactly where g_d >= max_k g_k.

    logits (N, K+1). ValueError on NaN, infinity, a wrong shape or more than one expert.
    """
    return torch.cat([class_probability(logits, num_experts), probability(logits, num_experts)], dim=1)


def probability(logits: Tensor, num_experts: int = 1) -> Float64[Tensor, "N 1"]:
    """P(the expert is right): a_d = e^{g_d} / (sum over all K+1 - max_k e^{g_k}), in [0, 1] for any logits.

    logits (N, K+1); returns (N, 1) float64.
    ValueError on NaN, infinity, a wrong shape or more than one expert.
    Source: Cao, Mozannar, Feng, Wei and An 2023.
    """
    _check_one_expert(num_experts)
    return torch.sigmoid(_expert_logit(check_logits(logits, num_experts).T))[:, None]


def _expert_logit(columns: Tensor) -> Tensor:
    """The log odds of a_d, (N,); logits (K+1, N): g_d - ln sum over all classes but the best of e^{g_k}."""
    classes = columns[:-1]
    best = classes.detach().max(dim=0, keepdim=True).indices  # several times faster than argmax
    rest = classes.scatter(0, best, float("-inf"))
    return columns[-1] - rest.logsumexp(dim=0)


def _check_one_expert(num_experts: int) -> None:
    if num_experts != 1:
        raise ValueError(f"asymmetric_softmax is defined for 1 expert, got {num_experts}")


ASYMMETRIC_SOFTMAX = Surrogate(
    name="asymmetric_softmax",
    title="Asymmetric softmax",
    reference="Cao, Mozannar, Feng, Wei and An 2023, In Defense of Softmax Parametrization for Calibrated and"
    " Consistent Learning to Defer",
    loss=loss,
    gradient=gradient,
    class_probability=class_probability,
    probabilities=probabilities,
    estimators={"probability": probability},
    is_bounded={"probability": True},
    is_consistent=True,
    formula=r"-\ln a_y - \mathbb{1}[m = y] \ln a_d - \mathbb{1}[m \ne y] \ln(1 - a_d), \quad"
    r" a_k = \frac{e^{g_k}}{\sum_{l \le K} e^{g_l}}, \quad"
    r" a_d = \frac{e^{g_d}}{e^{g_d} + \sum_{l \le K} e^{g_l} - \max_l e^{g_l}}",
    caveats=("Defined for one expert.", "Its gradient jumps where two classes tie for the best."),
)
