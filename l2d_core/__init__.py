"""Learning to defer: a classifier that may hand a case to an expert, with calibrated estimates of the expert.

Notation: N cases, K classes, J experts; logits (N, K+J), K class scores and then one deferral score per expert;
labels (N,); answers (N, J), -1 = not asked; expert_probability (N, J), an estimate of P(expert is right | x);
deferred (N,); coverage, the share that the machine keeps; risk = 1 - expert_probability. Fractions everywhere.

The names below are imported when they are first used, so that `import l2d_core` is quick.
"""

from importlib import import_module
from typing import Any

_HOME_OF = {
    "DeferralData": "data",
    "Scores": "data",
    "Splits": "data",
    "split_by_group": "data",
    "HeadConfig": "config",
    "SURROGATES": "surrogates",
    "Surrogate": "surrogates",
    "LAB_DATASETS": "datasets",
    "PRESETS": "experts.presets",
    "per_class": "experts.simulated",
    "right_on": "experts.simulated",
    "sample_answers": "experts.simulated",
    "defer_by_argmax": "evaluation.deferral",
    "defer_by_budget": "evaluation.deferral",
    "reliability_table": "calibration.binned",
    "calibration_error": "calibration.binned",
    "smooth_calibration_error": "calibration.smooth",
    "cutoff_calibration_error": "calibration.cumulative",
    "kuiper_test": "calibration.cumulative",
    "spiegelhalter_test": "calibration.cumulative",
    "corp_diagram": "calibration.corp",
    "accuracies": "evaluation.accuracy",
    "coverage_curve": "evaluation.curves",
    "budget_curve": "evaluation.curves",
    "expert_probability": "evaluation.probabilities",
    "risk_distance": "evaluation.probabilities",
    "summarise": "evaluation.summary",
    "fit": "lab.heads",
    "RunConfig": "config",
    "train": "training.loop",
    "predict": "models.prediction",
    "run_experiment": "experiment",
}

__all__ = list(_HOME_OF)
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'l2d_core' has no attribute {name!r}")
    return getattr(import_module(f"l2d_core.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
