"""Estimates of P(an expert is right) and the machine's confidence, from the logits of scores."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float64

from l2d_core.common.checks import ArrayLike, as_flags, as_floats, require_known, require_range
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic, machine_is_right
from l2d_core.surrogates import SURROGATES


def estimators_of(surrogates: Sequence[str]) -> list[tuple[str, str]]:
    """(surrogate, estimator) for each estimator of these surrogates, in the registry's order."""
    return [(name, estimator) for name in surrogates for estimator in SURROGATES[name].estimators]


def expert_probability(scores: Scores, estimator: str | None = None) -> Float64[np.ndarray, "N J"]:
    """The estimates of P(an expert is right given x), raw: above 1 where the estimator is unbounded.

    estimator: a name in the surrogate's `estimators`, by default the first. Returns (N, J).
    ValueError on an unknown surrogate or estimator.
    """
    require_known("surrogate", scores.surrogate, SURROGATES)
    estimators = SURROGATES[scores.surrogate].estimators
    name = next(iter(estimators)) if estimator is None else estimator
    require_known("estimator", name, estimators)
    return estimators[name](as_tensor(scores.logits), scores.num_experts).numpy()


def clip_probability(probability: ArrayLike) -> np.ndarray:
    """The estimates with all above 1 set to 1, as calibration wants them; `share_above_one` says how many.

    probability (N,) or (N, J), at least 0; returns the same shape. ValueError on NaN or a value below 0.
    """
    probability = np.asarray(probability, dtype=np.float64)
    require_range("probability", probability, 0, np.inf)
    return np.minimum(probability, 1)


def share_above_one(probability: ArrayLike, deferred: ArrayLike) -> dict[str, Statistic]:
    """Which share of the estimates is above 1: of "all" cases, and of the "deferred" ones.

    probability (N,), raw estimates for one expert; deferred (N,) bool. ValueError on NaN, shape or type.
    """
    above = as_floats("probability", probability) > 1
    return {
        "all": Statistic.mean_of(above),
        "deferred": Statistic.mean_of(above[as_flags("deferred", deferred, len(above))]),
    }


def expert_pairs(
    scores: Scores, estimator: str | None = None, expert: int = 0
) -> tuple[Float64[np.ndarray, " M"], Bool[np.ndarray, " M"]]:
    """What `calibration` takes, for one expert: its probability, clipped, and whether it was right.

    Only the M cases in which it was asked. ValueError on an unknown surrogate, estimator or expert.
    """
    if not 0 <= expert < scores.num_experts:
        raise ValueError(f"expert must lie in 0..{scores.num_experts - 1}, got {expert!r}")
    asked = scores.answers[:, expert] >= 0
    probability = expert_probability(scores, estimator)[asked, expert]
    return clip_probability(probability), scores.expert_correct[asked, expert]


def classifier_pairs(scores: Scores) -> tuple[Float64[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """What `calibration` takes, for the machine: its confidence, and whether it was right.

    The confidence is the top class's probability, in all N cases, deferred or not.
    ValueError on an unknown surrogate.
    """
    require_known("surrogate", scores.surrogate, SURROGATES)
    confidence = machine_confidence(scores.logits, scores.surrogate, scores.num_experts)
    return clip_probability(confidence), machine_is_right(scores)


def machine_confidence(logits: np.ndarray, surrogate: str, num_experts: int = 1) -> Float64[np.ndarray, " N"]:
    """The probability of the top class, (N,), of logits (N, K+J) of a known surrogate."""
    return SURROGATES[surrogate].class_probability(as_tensor(logits), num_experts).numpy().max(axis=1)


def risk_distance(predicted_risk: ArrayLike, true_risk: ArrayLike) -> float:
    """How far the distribution of the predicted risk lies from that of the true one: Wasserstein-1, in 0..1.

    The integral over t of |P(predicted <= t) - P(true <= t)|. Risk is 1 - expert_probability, clipped first.

    predicted_risk (N,) and true_risk (M,), in 0..1; ValueError on no cases, NaN, or a value outside.
    """
    # As scipy.stats.wasserstein_distance, whose import would delay the first fit of the lab.
    predicted, true = _sorted_risk("predicted_risk", predicted_risk), _sorted_risk("true_risk", true_risk)
    points = np.sort(np.concatenate([predicted, true]))
    # Both distributions are constant between neighbouring points.
    up_to = [np.searchsorted(risk, points[:-1], side="right") / len(risk) for risk in (predicted, true)]
    return float(np.sum(np.diff(points) * np.abs(up_to[0] - up_to[1])))


def _sorted_risk(name: str, risk: ArrayLike) -> np.ndarray:
    risk = as_floats(name, risk)
    if len(risk) == 0:
        raise ValueError(f"{name} must hold at least one case, got 0")
    require_range(name, risk, 0, 1)
    return np.sort(risk)


def as_tensor(logits: np.ndarray) -> torch.Tensor:
    """A copy of the logits in float64, as surrogates take them."""
    return torch.from_numpy(np.array(logits, dtype=np.float64))
