"""Temperature scaling of the rejector: does a system decide better with a corrected estimate of the expert?"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, special

from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import accuracies
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_pairs
from l2d_core.evaluation.recalibration import TEMPERATURES, fit_recalibration
from l2d_core.reproductions.experiment import HALF
from l2d_core.reproductions.findings import say_order
from l2d_core.reproductions.measured import Value, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request, notes_of
from l2d_core.reproductions.trained import TrainedSystems, shipped_systems, train_systems, trainings_of


def log_odds_temperature(validation: Scores) -> float:
    """T with the lowest log loss of sigmoid(g_d / T) on held-out cases: fitted and applied on one scale."""
    return fit_recalibration("temperature", validation, "sigmoid").parameters["temperature"]


def authors_temperature(validation: Scores) -> float:
    """T with the lowest log loss of sigmoid(sigmoid(g_d) / T), by which the authors then divide g_d itself."""
    probability, correct = expert_pairs(validation, "sigmoid")

    def loss(log_t: float) -> float:
        z = probability / np.exp(log_t)
        return float((np.logaddexp(0, z) - correct * z).mean())

    found: Any = optimize.minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded")
    return float(np.exp(found.x))


RULES: dict[str, Callable[[Scores], float]] = {
    "none": lambda _validation: 1.0,
    "temperature": log_odds_temperature,
    "temperature, the authors' rule": authors_temperature,
}


def scaled_deferral(scores: Scores, temperature: float) -> np.ndarray:
    """Defer where sigmoid(g_d / T) >= max_k sigmoid(g_k), (N,) bool; the machine's class stays the same."""
    logits = scores.logits.astype(np.float64)
    logits[:, -1] /= temperature
    return defer_by_argmax(logits)


def temperature(request: Request) -> Reproduction:
    """System accuracy and coverage of one-vs-all before and after.

    details: "temperatures": setting, rule, seed, temperature, log_loss (of the estimate on test).
    """
    start = time.perf_counter()
    systems = train_systems(request, [HALF]) + shipped_systems(request, HALF)
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
            "temperatures": pd.DataFrame(fitted, columns=["setting", "rule", "seed", "temperature", "log_loss"]),
            **trainings_of(systems),
        },
        notes=notes_of(
            request,
            "The column estimator names the rule. The temperature is fitted on validation cases; 'temperature' scales "
            "the log-odds g_d. The authors fit it on sigmoid(g_d) as if that were a logit, and divide g_d by it.",
            "The paper says that system accuracy improves a little; it gives no number here to compare with.",
        ),
        findings=tuple(findings),
        seconds=time.perf_counter() - start,
    )


def _measure(one: TrainedSystems, rule: str, fit: Callable[[Scores], float], values: list[Value], fitted: list) -> None:
    for seed, (test, validation) in enumerate(zip(one.test["one_vs_all"], one.validation["one_vs_all"], strict=True)):
        found = fit(validation)
        shares = accuracies(test, scaled_deferral(test, found))
        for name in ("system", "coverage", "machine_on_kept", "expert_on_deferred"):
            values.append(Value(one.title, "one_vs_all", rule, name, shares[name]))
        z = test.logits[:, -1].astype(np.float64) / found
        loss = float(-np.where(test.expert_correct[:, 0], special.log_expit(z), special.log_expit(-z)).mean())
        fitted.append((one.title, rule, seed, found, loss))
