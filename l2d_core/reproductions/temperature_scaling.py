"""Temperature scaling of the rejector: does a system decide better with a corrected estimate of the expert?"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, special

from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_pairs
from l2d_core.evaluation.recalibration import fit_recalibration
from l2d_core.reproductions.findings import say_order
from l2d_core.reproductions.measured import Value, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request, notes_of
from l2d_core.reproductions.trained import TrainedSystems, first_expert_systems, trainings_of


@dataclass(frozen=True)
class Scaling:
    """The deferral score after scaling: g_d -> temperature (g_d - shift), or g_d / temperature where there is no shift.

    The paper's authors call their factor T a temperature too, though it multiplies.
    """

    temperature: float = 1.0
    shift: float | None = None

    def apply(self, score: np.ndarray) -> np.ndarray:
        """The scaled scores of g_d (N,)."""
        return score / self.temperature if self.shift is None else self.temperature * (score - self.shift)


def log_odds_temperature(validation: Scores) -> Scaling:
    """T with the lowest log loss of sigmoid(g_d / T) on held-out cases: fitted and applied on one scale."""
    return Scaling(fit_recalibration("temperature", validation, "sigmoid").parameters["temperature"])


def authors_scaling(validation: Scores) -> Scaling:
    """T and gamma with the lowest log loss of sigmoid(T (p - gamma)), p = sigmoid(g_d), on held-out cases.

    The authors then apply T (g_d - gamma) to g_d itself: fitted on one scale, applied on another.
    """
    probability, correct = expert_pairs(validation, "sigmoid")

    def loss_and_slope(line: np.ndarray) -> tuple[float, np.ndarray]:
        z = line[0] * (probability - line[1])
        residual = special.expit(z) - correct
        slope = [(residual * (probability - line[1])).mean(), -line[0] * residual.mean()]
        return float((np.logaddexp(0, z) - correct * z).mean()), np.array(slope)

    factor, shift = optimize.minimize(loss_and_slope, [4.0, 0.5], jac=True, method="BFGS").x
    return Scaling(float(factor), float(shift))


RULES: dict[str, Callable[[Scores], Scaling]] = {
    "none": lambda _validation: Scaling(),
    "temperature": log_odds_temperature,
    "slope and shift, the authors' rule": authors_scaling,
}


def scaled_deferral(scores: Scores, scaling: Scaling) -> np.ndarray:
    """Defer where the scaled g_d is at least max_k g_k, (N,) bool; the machine's class stays the same."""
    logits = scores.logits.astype(np.float64)
    logits[:, -1] = scaling.apply(logits[:, -1])
    return defer_by_argmax(logits)


def temperature(request: Request) -> Reproduction:
    """System accuracy and coverage of one-vs-all before and after.

    details: "temperatures": setting, rule, seed, temperature, shift, log_loss (of the estimate on test).
    """
    start = time.perf_counter()
    systems = first_expert_systems(request)
    values, fitted = [], []
    for one in systems:
        for rule, fit in RULES.items():
            _measure(one, rule, fit, values, fitted)
    findings = [
        say_order(
            f"{one.title}, system accuracy",
            (f"with {rule}", "without"),
            (pick(values, one.title, rule, "system"), pick(values, one.title, "none", "system")),
            None,
            paper_sign=1,
        )
        for one in systems
        for rule in list(RULES)[1:]
    ]
    return Reproduction(
        title="Temperature scaling of one-vs-all's rejector",
        table=as_table(rows_of(values)),
        details={
            "temperatures": pd.DataFrame(
                fitted, columns=["setting", "rule", "seed", "temperature", "shift", "log_loss"]
            ),
            **trainings_of(systems),
        },
        notes=notes_of(
            request,
            "The column estimator names the rule, fitted on validation cases. 'temperature' is ours: g_d / T, fitted "
            "and applied on the log-odds. The authors' code fits two numbers, sigmoid(T (p - gamma)) on p = "
            "sigmoid(g_d), and applies them to g_d itself, T (g_d - gamma); its logs hold T from 5.1 to 7.6 and gamma "
            "from 0.33 to 0.48.",
            "The paper says that system accuracy improves a little; it gives no number here to compare with.",
        ),
        findings=tuple(findings),
        seconds=time.perf_counter() - start,
    )


def _measure(
    one: TrainedSystems, rule: str, fit: Callable[[Scores], Scaling], values: list[Value], fitted: list
) -> None:
    for seed, (test, validation) in enumerate(zip(one.test["one_vs_all"], one.validation["one_vs_all"], strict=True)):
        found = fit(validation)
        shares = accuracies(test, scaled_deferral(test, found))
        for name in ("system", "coverage", "machine_on_kept", "expert_on_deferred"):
            values.append(Value(one.title, "one_vs_all", rule, name, shares[name]))
        z = found.apply(test.logits[:, -1].astype(np.float64))
        loss = float(-np.where(test.expert_correct[:, 0], special.log_expit(z), special.log_expit(-z)).mean())
        fitted.append((one.title, rule, seed, found.temperature, found.shift, loss))
