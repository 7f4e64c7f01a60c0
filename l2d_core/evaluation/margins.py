"""How much better asking the expert looks than answering, on two scales.

Both have the sign of the logits' margin, so that both make the decisions of `defer_by_argmax`. The order of the cases
differs for softmax. Cases are ordered by the gain, in the lab and wherever systems are compared; by the surrogate's own
scale only where the paper's curves are reproduced, which sort by it.
"""

import numpy as np
from jaxtyping import Float64

from l2d_core.common.checks import require_known
from l2d_core.data import Scores
from l2d_core.evaluation.deferral import best_expert, defer_margin
from l2d_core.evaluation.probabilities import as_tensor, machine_confidence
from l2d_core.surrogates import SURROGATES

_SATURATED = 1e-300  # less than all that probabilities differ by otherwise


def margin_of_scores(scores: Scores) -> Float64[np.ndarray, " N"]:
    """`own_scale_margin` of scores. ValueError on an unknown surrogate."""
    require_known("surrogate", scores.surrogate, SURROGATES)
    return own_scale_margin(scores.logits, scores.surrogate, scores.num_experts)


def own_scale_margin(logits: np.ndarray, surrogate: str, num_experts: int = 1) -> Float64[np.ndarray, " N"]:
    """The margin on the scale of the surrogate's own probabilities: max_j q_{K+j} - max_k q_k.

    q = `Surrogate.probabilities`: for softmax p_d - max_k p_k, by which the paper sorts. Another scale would draw other
    coverage and budget curves through the same operating point.

    logits (N, K+J); returns (N,).
    """
    probabilities = SURROGATES[surrogate].probabilities(as_tensor(logits), num_experts)
    margin = defer_margin(probabilities.numpy(), num_experts)
    # Where rounding makes both probabilities 1, or 0, the logits still say which is more, and by how much.
    exact = defer_margin(logits, num_experts)
    return np.where(margin == 0, _SATURATED * exact / (1 + np.abs(exact)), margin)


def gain_margin(logits: np.ndarray, surrogate: str, num_experts: int = 1) -> Float64[np.ndarray, " N"]:
    """What asking gains in expected accuracy: P(the expert is right), by the first estimator, less the confidence.

    logits (N, K+J); returns (N,), with the sign of the logits' margin where rounding took it: at a tie, or where both
    saturate.
    """
    estimate = next(iter(SURROGATES[surrogate].estimators.values()))
    expert = best_expert(logits, num_experts)
    probability = estimate(as_tensor(logits), num_experts).numpy()[np.arange(len(expert)), expert]
    gain = probability - machine_confidence(logits, surrogate, num_experts)
    margin = defer_margin(logits, num_experts)
    return np.where(margin >= 0, np.maximum(gain, 0), np.minimum(gain, -np.finfo(np.float64).tiny))
