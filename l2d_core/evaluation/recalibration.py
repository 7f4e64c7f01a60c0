"""Recalibration of both sides of the decision: "the expert is right" and "the machine is right", on held-out cases.

A corrected estimate of the expert decides well only against a corrected confidence of the machine. Each correction is
fitted and applied on one scale, that of the network: temperature on its logits, Platt on the log-odds, isotonic and
Venn-Abers on the order of the raw estimates. The log-odds of deferring z are g_d for a sigmoid and
g_d - ln sum_k e^{g_k} for a softmax, so that softmax odds above 1 are not cut off before they are corrected. The
machine's class stays the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy
import torch
from jaxtyping import Float64
from scipy import special

from l2d_core.calibration.venn_abers import VennAbers
from l2d_core.common.checks import ArrayLike, require_known
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import machine_is_right
from l2d_core.evaluation.probabilities import machine_confidence
from l2d_core.surrogates import SURROGATES

RECALIBRATIONS = {
    "none": "As it is",
    "temperature": "Temperature",
    "platt": "Platt",
    "isotonic": "Isotonic",
    "venn_abers": "Venn-Abers",
}
TEMPERATURES = (0.02, 50.0)
NUM_TRIED = 60
LARGEST = 1e300  # of a logit: some times as much is still a number
NEAREST = 1e-6  # to 0 and 1, in the log loss: an estimate of 1 that fails costs 13.8 nats, rather than infinitely many

BISECTIONS = 40  # of the log of a temperature, to 1e-11

Estimate = Callable[[np.ndarray, int], np.ndarray]  # (logits (N, K+J), num_experts) -> (N, J)
Confidence = Callable[[np.ndarray, int], np.ndarray]  # the same -> (N,), of the machine's class
Fitted = tuple[dict[str, float], Callable[[np.ndarray, int], np.ndarray]]


@dataclass(frozen=True)
class Recalibration:
    """A correction that was fitted. parameters: temperature; slope and offset; how many levels; or the mean width from
    p0 to p1; none for "none".

    machine_parameters: the same of the machine's side, the lowest and the highest temperature where each class has its
    own. note: why it is not to be trusted; "" where there is no such reason.
    """

    method: str
    parameters: Mapping[str, float]
    estimate: Estimate
    machine_parameters: Mapping[str, float]
    machine: Confidence
    note: str = ""

    def apply(self, logits: ArrayLike, num_experts: int = 1) -> Float64[np.ndarray, "N J"]:
        """The corrected estimates (N, J). Those of softmax odds may be above 1, as they are or with a temperature.

        logits (N, K+J), of the surrogate that it was fitted for. ValueError on NaN, infinity or a wrong shape.
        """
        return self.estimate(np.asarray(logits, dtype=np.float64), num_experts)

    def confidence(self, logits: ArrayLike, num_experts: int = 1) -> Float64[np.ndarray, " N"]:
        """The corrected probability that the machine's class is the right one, (N,). Arguments as in `apply`."""
        return self.machine(np.asarray(logits, dtype=np.float64), num_experts)

    def describe(self) -> str:
        """The parameters in words, such as "expert: temperature 1.43; machine: temperature 1.2", and the note."""
        sides = {"expert": self.parameters, "machine": self.machine_parameters}
        told = [
            f"{side}: {', '.join(f'{name} {value:.3g}' for name, value in own.items())}"
            for side, own in sides.items()
            if own
        ]
        return "; ".join([*(told or ["as it is"]), *([self.note] if self.note else [])])


def raw(surrogate: str, estimator: str | None = None) -> Recalibration:
    """No correction: the estimator itself, by default the surrogate's first. ValueError on an unknown name."""
    return Recalibration("none", {}, _estimator(surrogate, estimator), {}, _confidence(surrogate))


def fit_recalibration(method: str, scores: Scores, estimator: str | None = None) -> Recalibration:
    """Fit a correction of a name in `RECALIBRATIONS` to held-out cases: of all experts together, and of the machine.

    temperature: the estimator at logits / T, T in 0.02..50 of the least log loss. The machine's classes have one T
    where they share a softmax, by the log loss of the true class; one each where each has a sigmoid.
    Source: Guo and others 2017.
    platt: sigmoid(a z + b) of the least log loss, towards (n_1 + 1) / (n_1 + 2) and 1 / (n_0 + 2), n_1 and n_0 the
    answers that were right and that were not, so that it exists for any data. Source: Platt 1999.
    isotonic: the rising function of least squares, straight lines between its steps. Source: Zadrozny and Elkan 2002.
    venn_abers: as `calibration.venn_abers`, never 0 or 1. Source: Vovk, Petej and Fedorova 2015.

    Answers that are missing do not count. Its note says so where one side is always right, or always wrong. ValueError
    on an unknown method, surrogate or estimator, or no answers.
    """
    require_known("method", method, RECALIBRATIONS)
    if method == "none":
        return raw(scores.surrogate, estimator)
    estimate, asked = _estimator(scores.surrogate, estimator), scores.answers >= 0
    if not asked.any():
        raise ValueError("a recalibration is fitted to the experts' answers, and there are none")
    fit_expert, fit_machine = _FITS[method]
    note = _note(method, "answers", scores.expert_correct[asked]) or _note(method, "classes", machine_is_right(scores))
    return Recalibration(method, *fit_expert(estimate, scores, asked), *fit_machine(scores), note)


def _note(method: str, what: str, right: np.ndarray) -> str:
    if right.any() != right.all():
        return ""
    constant = ", so that all estimates become one constant" if method == "isotonic" else ""
    whose = {"answers": "answers", "classes": "of the machine's classes"}[what]
    return f"fitted on one outcome only: all {len(right):,} {whose} are {'right' if right[0] else 'wrong'}{constant}"


def _estimator(surrogate: str, name: str | None) -> Estimate:
    require_known("surrogate", surrogate, SURROGATES)
    estimators = SURROGATES[surrogate].estimators
    name = next(iter(estimators)) if name is None else name
    require_known("estimator", name, estimators)
    return lambda logits, num_experts: estimators[name](torch.from_numpy(logits.copy()), num_experts).numpy()


def _confidence(surrogate: str) -> Confidence:
    return lambda logits, num_experts: machine_confidence(logits, surrogate, num_experts)


def _temperature(estimate: Estimate, scores: Scores, asked: np.ndarray) -> Fitted:
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
    return {"temperature": temperature}, lambda logits, count: estimate(_divide(logits, temperature), count)


def _class_temperature(scores: Scores) -> Fitted:
    """One temperature for classes that share a softmax; one for each that is a binary problem of its own."""
    classes, labels = scores.logits[:, : scores.num_classes].astype(np.float64), scores.labels
    is_label = np.arange(scores.num_classes) == labels[:, None]
    confidence = _confidence(scores.surrogate)
    if scores.surrogate == "one_vs_all":
        each = _least_loss(
            lambda t: ((special.expit(_divide(classes, t)) - is_label) * classes).mean(axis=0), is_label[0]
        )
        return {"lowest temperature": float(each.min()), "highest temperature": float(each.max())}, (
            lambda logits, count: _of_top_class(special.expit(_divide(logits[:, :-count], each)), logits[:, :-count])
        )

    def slope(t: np.ndarray) -> np.ndarray:
        p = special.softmax(_divide(classes, t), axis=1)
        return ((p - is_label) * classes).sum(axis=1).mean(keepdims=True)

    temperature = float(_least_loss(slope, np.zeros(1))[0])
    return {"temperature": temperature}, lambda logits, count: confidence(_divide(logits, temperature), count)


def _least_loss(slope: Callable[[np.ndarray], np.ndarray], like: np.ndarray) -> np.ndarray:
    """The temperatures in TEMPERATURES of the least log loss, by bisection: it is convex in 1 / T.

    slope: temperatures -> the derivatives of the losses by 1 / T, of the shape of `like`.
    """
    low, high = (np.full(like.shape, np.log(bound)) for bound in TEMPERATURES)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        is_too_low = slope(np.exp(middle)) > 0  # 1 / T is too large
        low, high = np.where(is_too_low, middle, low), np.where(is_too_low, high, middle)
    return np.exp((low + high) / 2)


def _of_top_class(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Of values (N, K), that of the class of the highest score, (N,)."""
    return np.take_along_axis(values, scores.argmax(axis=1)[:, None], axis=1)[:, 0]


def _divide(logits: np.ndarray, temperature: float | np.ndarray) -> np.ndarray:
    """Logits over a temperature, finite also where they were near the largest number that there is."""
    with np.errstate(over="ignore"):
        return np.clip(logits / temperature, -LARGEST, LARGEST)


def _platt(_estimate: Estimate, scores: Scores, asked: np.ndarray) -> Fitted:
    log_odds = _log_odds(scores.surrogate)
    z = log_odds(scores.logits.astype(np.float64), scores.num_experts)[asked]
    return _line(z, scores.expert_correct[asked], log_odds)


def _machine_platt(scores: Scores) -> Fitted:
    confidence = _confidence(scores.surrogate)

    def log_odds(logits: np.ndarray, count: int) -> np.ndarray:
        return special.logit(np.clip(confidence(logits, count), LEAST, MOST))

    return _line(log_odds(scores.logits, scores.num_experts), machine_is_right(scores), log_odds)


def _line(z: np.ndarray, right: np.ndarray, log_odds: Callable[[np.ndarray, int], np.ndarray]) -> Fitted:
    """The line through the log-odds z (M,) of what came true, right (M,), and its sigmoid as a function of logits."""
    targets = np.where(right, (right.sum() + 1) / (right.sum() + 2), 1 / ((~right).sum() + 2))

    def loss_and_slope(line: np.ndarray) -> tuple[float, np.ndarray]:
        corrected = line[0] * z + line[1]
        residual = special.expit(corrected) - targets
        return float((np.logaddexp(0, corrected) - targets * corrected).mean()), np.array(
            [(residual * z).mean(), residual.mean()]
        )

    slope, offset = map(float, scipy.optimize.minimize(loss_and_slope, [1.0, 0.0], jac=True, method="BFGS").x)
    return (
        {"slope": slope, "offset": offset},
        lambda logits, count: special.expit(slope * log_odds(logits, count) + offset),
    )


def _of_expert(fit: "FitOfOrder", estimate: Estimate, scores: Scores, asked: np.ndarray) -> Fitted:
    p = estimate(scores.logits.astype(np.float64), scores.num_experts)[asked]
    return _after(estimate, *fit(p, scores.expert_correct[asked]))


def _of_machine(fit: "FitOfOrder", scores: Scores) -> Fitted:
    confidence = _confidence(scores.surrogate)
    p = confidence(scores.logits, scores.num_experts)
    return _after(confidence, *fit(p, machine_is_right(scores)))


# Estimates (M,) and whether each came true (M,) -> parameters, and a function of new estimates (N,).
FitOfOrder = Callable[[np.ndarray, np.ndarray], tuple[dict[str, float], Callable[[np.ndarray], np.ndarray]]]


def _after(
    estimate: Estimate | Confidence, parameters: dict[str, float], correction: Callable[[np.ndarray], np.ndarray]
) -> Fitted:
    def corrected(logits: np.ndarray, count: int) -> np.ndarray:
        found = estimate(logits, count)
        return np.asarray(correction(found.ravel()), dtype=np.float64).reshape(found.shape)

    return parameters, corrected


def _isotonic(p: np.ndarray, right: np.ndarray) -> tuple[dict[str, float], Callable[[np.ndarray], np.ndarray]]:
    from sklearn.isotonic import IsotonicRegression  # where it is needed: its import takes as long as a page's drawing

    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, right)
    return {"levels": len(np.unique(steps.predict(p)))}, steps.predict


def _venn_abers(p: np.ndarray, right: np.ndarray) -> tuple[dict[str, float], Callable[[np.ndarray], np.ndarray]]:
    fitted = VennAbers.fit(p, right)
    low, high = fitted.bounds(p)
    return {"mean width": float((high - low).mean())}, fitted.apply


# The fit of the expert's side, and of the machine's.
_FITS: dict[str, tuple[Callable[[Estimate, Scores, np.ndarray], Fitted], Callable[[Scores], Fitted]]] = {
    "temperature": (_temperature, _class_temperature),
    "platt": (_platt, _machine_platt),
    "isotonic": (partial(_of_expert, _isotonic), partial(_of_machine, _isotonic)),
    "venn_abers": (partial(_of_expert, _venn_abers), partial(_of_machine, _venn_abers)),
}
LEAST, MOST = float(np.finfo(np.float64).tiny), 1 - float(np.finfo(np.float64).eps)  # of a probability with log-odds


def _log_odds(surrogate: str) -> Estimate:
    """z (N, J): ln p where the first estimator p is unbounded, as the log-odds of p / (1 + p); else logit p."""
    known = SURROGATES[surrogate]
    name = next(iter(known.estimators))
    estimate, link = _estimator(surrogate, name), (special.logit if known.is_bounded[name] else np.log)
    most = MOST if known.is_bounded[name] else np.inf
    return lambda logits, count: link(np.clip(estimate(logits, count), LEAST, most))
