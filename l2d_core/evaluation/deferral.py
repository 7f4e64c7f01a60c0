"""Who decides a case, the machine or an expert: by the scores themselves, or within a budget."""

import math

import numpy as np
from jaxtyping import Bool, Float64, Int

from l2d_core.common.checks import ArrayLike, as_floats


def defer_by_argmax(logits: ArrayLike, num_experts: int = 1) -> Bool[np.ndarray, " N"]:
    """Defer where an expert's score is at least the best class score.

    r(x) = 1[max_j g_{K+j} >= max_k g_k]. A tie defers, as in the paper; in the code that its authors
    published a tie between the deferral score and a class is a prediction. Any increasing function of the
    logits gives the same decisions: softmax probabilities, sigmoids.

    logits (N, K+J), num_experts J; returns (N,). ValueError on a wrong shape, NaN or infinity.
    Source: Verma and Nalisnick 2022.
    """
    return defer_margin(logits, num_experts) >= 0


def defer_margin(logits: ArrayLike, num_experts: int = 1) -> Float64[np.ndarray, " N"]:
    """How much better the best deferral score is than the best class score; at least 0 means defer.

    max_j g_{K+j} - max_k g_k, on the scale of the scores that come in.

    logits (N, K+J), num_experts J; returns (N,). ValueError on a wrong shape, NaN or infinity.
    """
    classes, experts = _split(logits, num_experts)
    return experts.max(axis=1) - classes.max(axis=1)


def best_expert(logits: ArrayLike, num_experts: int = 1) -> Int[np.ndarray, " N"]:
    """Which expert a deferred case goes to: the one of the highest score; in a tie, the first of them.

    argmax_j g_{K+j}. logits (N, K+J), num_experts J; returns (N,) in 0..J-1, for all cases, deferred or not.
    ValueError on a wrong shape, NaN or infinity.
    """
    return _split(logits, num_experts)[1].argmax(axis=1)


def defer_by_budget(margin: ArrayLike, budget: int | float, *, forced: bool) -> Bool[np.ndarray, " N"]:
    """Defer the cases of the largest margins, within a budget.

    capped (forced=False): the first min(floor(budget N), number of positive margins) cases.
    forced (forced=True): the first floor(budget N) cases, whatever their margins.
    The largest margin goes first, in a tie the lower row. A margin of exactly 0, which `defer_by_argmax`
    defers, is not positive: a cap keeps the case, for asking would gain nothing.

    margin (N,), larger = defer sooner; budget in 0..1, a share of the N cases; returns (N,).
    ValueError on a wrong shape, NaN, infinity or a budget out of range. Source: Verma and Nalisnick 2022.
    Where a budget cuts a tie, accuracies depend on the order of the rows: measure them with `share_deferred`.
    """
    margin = as_floats("margin", margin)
    deferred = np.zeros(len(margin), dtype=bool)
    deferred[deferral_order(margin)[: num_deferred(margin, budget, forced=forced)]] = True
    return deferred


def num_deferred(margin: np.ndarray, budget: int | float, *, forced: bool) -> int:
    """How many cases `defer_by_budget` defers."""
    allowed = num_within_budget(budget, len(margin))
    return allowed if forced else min(allowed, int(np.count_nonzero(margin > 0)))


def share_deferred(margin: ArrayLike, num_cases: int) -> Float64[np.ndarray, " N"]:
    """The probability that each case is deferred, where the num_cases of the largest margins are, ties at random.

    1 above the margin at the edge, 0 below it, and the same share for all cases that tie at it. Accuracies computed
    with these shares are expected values over the order within the tie.

    margin (N,); num_cases in 0..N; returns (N,) in 0..1. ValueError on a wrong shape, NaN or infinity.
    """
    margin = as_floats("margin", margin)
    if num_cases == 0:
        return np.zeros(len(margin))
    edge = np.partition(margin, len(margin) - num_cases)[len(margin) - num_cases]
    above, tied = margin > edge, margin == edge
    return above + tied * ((num_cases - above.sum()) / tied.sum())


def deferral_order(margin: ArrayLike) -> Int[np.ndarray, " N"]:
    """The rows as a growing budget defers them: the largest margin first, in a tie the lower row.

    margin (N,); returns (N,) row indices. ValueError on a wrong shape, NaN or infinity.
    """
    return np.argsort(-as_floats("margin", margin), kind="stable")


def num_within_budget(budget: int | float, num_cases: int) -> int:
    """How many of the cases a budget allows to defer: floor(budget N).

    Products within a millionth of a whole number count as that number: 0.29 of 100 cases is 29, although
    0.29 * 100 = 28.999999999999996 in floating point. ValueError on a budget outside 0..1.
    """
    if not 0 <= budget <= 1:
        raise ValueError(f"budget must lie in 0..1, a share of the cases, got {budget!r}")
    return math.floor(round(float(budget) * num_cases, 6))


def _split(logits: ArrayLike, num_experts: int) -> tuple[np.ndarray, np.ndarray]:
    """The class scores (N, K) and the experts' scores (N, J)."""
    logits = as_floats("logits", logits, (None, None))
    if not 1 <= num_experts < logits.shape[1]:
        raise ValueError(
            f"num_experts must lie in 1..{logits.shape[1] - 1} for {logits.shape[1]} columns of logits, "
            f"got {num_experts}"
        )
    return logits[:, :-num_experts], logits[:, -num_experts:]
