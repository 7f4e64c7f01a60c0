"""Recalibration: estimates of "the expert is right" corrected by what came true on other cases, held out.

Each is fitted and applied on one scale, that of the network: temperature on its logits, Platt on the log-odds of
deferring z, which is g_d for a sigmoid and g_d - ln sum_k e^{g_k} for a softmax, isotonic on the order of the raw
estimates. So softmax odds above 1 are not cut off before they are corrected.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import torch
from jaxtyping import Float64
from scipy import special

from l2d_core.common.checks import ArrayLike, require_known
from l2d_core.data import Scores
from l2d_core.surrogates import SURROGATES

RECALIBRATIONS = {
    "none": "As it is",
    "temperature": "Temperature",
    "platt": "Platt",
    "isotonic": "Isotonic",
}
TEMPERATURES = (0.02, 50.0)
NUM_TRIED = 60
LARGEST = 1e300  # of a logit: some times as much is still a number
NEAREST = 1e-6  # to 0 and 1, in the log loss: an estimate of 1 that fails costs 13.8 nats, rather than infinitely many

Estimate = Callable[[np.ndarray, int], np.ndarray]  # (logits (N, K+J), num_experts) -> (N, J)


@dataclass(frozen=True)
class Recalibration:
    """A correction that was fitted. parameters: temperature; slope and offset; or how many levels; none for "none".

    note: why it is not to be trusted; "" where there is no such reason.
    """

    method: str
    parameters: Mapping[str, float]
    estimate: Estimate
    note: str = ""

    def apply(self, logits: ArrayLike, num_experts: int = 1) -> Float64[np.ndarray, "N J"]:
        """The corrected estimates (N, J). Those of softmax odds may be above 1, as they are or with a temperature.

        logits (N, K+J), of the surrogate that it was fitted for. ValueError on NaN, infinity or a wrong shape.
        """
        return self.estimate(np.asarray(logits, dtype=np.float64), num_experts)

    def describe(self) -> str:
        """The parameters in words, such as "temperature 1.43", and the note."""
        parameters = ", ".join(f"{name} {value:.3g}" for name, value in self.parameters.items()) or "as it is"
        return f"{parameters}; {self.note}" if self.note else parameters


def raw(surrogate: str, estimator: str | None = None) -> Recalibration:
    """No correction: the estimator itself, by default the surrogate's first. ValueError on an unknown name."""
    return Recalibration("none", {}, _estimator(surrogate, estimator))


def fit_recalibration(method: str, scores: Scores, estimator: str | None = None) -> Recalibration:
    """Fit a correction of a name in `RECALIBRATIONS` to held-out cases; that of all experts together.

    temperature: the estimator at logits / T, T in 0.02..50 of the least log loss; it never changes an argmax of the
    logits. Source: Guo and others 2017.
    platt: sigmoid(a z + b) of the least log loss, towards (n_1 + 1) / (n_1 + 2) and 1 / (n_0 + 2), n_1 and n_0 the
    answers that were right and that were not, so that it exists for any data. Source: Platt 1999.
    isotonic: the rising function of least squares, straight lines between its steps. Source: Zadrozny and Elkan 2002.

    Answers that are missing do not count. Its note says so where the others are all right, or all wrong. ValueError on
    an unknown method, surrogate or estimator, or no answers.
    """
    require_known("method", method, RECALIBRATIONS)
    estimate = _estimator(scores.surrogate, estimator)
    asked = scores.answers >= 0
    if not asked.any():
        raise ValueError("a recalibration is fitted to the experts' answers, and there are none")
    return replace(_FITS[method](estimate, scores, asked), note=_note(method, scores.expert_correct[asked]))


def _note(method: str, right: np.ndarray) -> str:
    if method == "none" or right.any() != right.all():
        return ""
    constant = ", so that all estimates become one constant" if method == "isotonic" else ""
    answers = f"all {len(right):,} answers are {'right' if right[0] else 'wrong'}"
    return f"fitted on one outcome only: {answers}{constant}"


def _estimator(surrogate: str, name: str | None) -> Estimate:
    require_known("surrogate", surrogate, SURROGATES)
    estimators = SURROGATES[surrogate].estimators
    name = next(iter(estimators)) if name is None else name
    require_known("estimator", name, estimators)
    return lambda logits, num_experts: estimators[name](torch.from_numpy(logits.copy()), num_experts).numpy()


def _none(estimate: Estimate, _scores: Scores, _asked: np.ndarray) -> Recalibration:
    return Recalibration("none", {}, estimate)


def _temperature(estimate: Estimate, scores: Scores, asked: np.ndarray) -> Recalibration:
    logits, right = scores.logits.astype(np.float64), scores.expert_correct[asked]

    def loss(log_t: float) -> float:
        p = np.clip(estimate(_divide(logits, np.exp(log_t)), scores.num_experts)[asked], NEAREST, 1 - NEAREST)
        return -float(np.where(right, np.log(p), np.log1p(-p)).mean())

    # Odds that pass 1 make the loss jump, so that it has several minima: look all over, then near the best.
    tried = np.log(np.geomspace(*TEMPERATURES, num=NUM_TRIED))
    best = int(np.argmin([loss(log_t) for log_t in tried]))
    around = tried[max(best - 1, 0)], tried[min(best + 1, NUM_TRIED - 1)]
    found: Any = scipy.optimize.minimize_scalar(loss, bounds=around, method="bounded")
    temperature = float(np.exp(found.x))
    return Recalibration(
        "temperature",
        {"temperature": temperature},
        lambda logits, count: estimate(_divide(logits, temperature), count),
    )


def _divide(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Logits over a temperature, finite also where they were near the largest number that there is."""
    with np.errstate(over="ignore"):
        return np.clip(logits / temperature, -LARGEST, LARGEST)


def _platt(_estimate: Estimate, scores: Scores, asked: np.ndarray) -> Recalibration:
    log_odds = _log_odds(scores.surrogate)
    z, right = log_odds(scores.logits.astype(np.float64), scores.num_experts)[asked], scores.expert_correct[asked]
    targets = np.where(right, (right.sum() + 1) / (right.sum() + 2), 1 / ((~right).sum() + 2))

    def loss_and_slope(line: np.ndarray) -> tuple[float, np.ndarray]:
        corrected = line[0] * z + line[1]
        residual = special.expit(corrected) - targets
        return float((np.logaddexp(0, corrected) - targets * corrected).mean()), np.array(
            [(residual * z).mean(), residual.mean()]
        )

    slope, offset = map(float, scipy.optimize.minimize(loss_and_slope, [1.0, 0.0], jac=True, method="BFGS").x)
    return Recalibration(
        "platt",
        {"slope": slope, "offset": offset},
        lambda logits, count: special.expit(slope * log_odds(logits, count) + offset),
    )


def _isotonic(estimate: Estimate, scores: Scores, asked: np.ndarray) -> Recalibration:
    from sklearn.isotonic import IsotonicRegression  # where it is needed: its import takes as long as a page's drawing

    p = estimate(scores.logits.astype(np.float64), scores.num_experts)[asked]
    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, scores.expert_correct[asked])
    levels = len(np.unique(steps.predict(p)))

    def corrected(logits: np.ndarray, count: int) -> np.ndarray:
        found = estimate(logits, count)
        return np.asarray(steps.predict(found.ravel()), dtype=np.float64).reshape(found.shape)

    return Recalibration("isotonic", {"levels": levels}, corrected)


_FITS: dict[str, Callable[[Estimate, Scores, np.ndarray], Recalibration]] = {
    "none": _none,
    "temperature": _temperature,
    "platt": _platt,
    "isotonic": _isotonic,
}


def _log_odds(surrogate: str) -> Estimate:
    """z (N, J): ln p where the first estimator p is unbounded, as the log-odds of p / (1 + p); else logit p."""
    known = SURROGATES[surrogate]
    name = next(iter(known.estimators))
    estimate, link = _estimator(surrogate, name), (special.logit if known.is_bounded[name] else np.log)
    least, most = np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).eps if known.is_bounded[name] else np.inf
    return lambda logits, count: link(np.clip(estimate(logits, count), least, most))
