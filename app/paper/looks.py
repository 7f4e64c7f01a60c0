"""How methods within a budget, and rules of temperature scaling, look and are called on the page of the paper."""

from dataclasses import replace

from app.kit.looks import ESTIMATORS, GREY, SYSTEMS, Look

# Softmax and one-vs-all look as everywhere; a variant has the colour of what it varies, with a dash and marker of its
# own.
METHODS = {
    "softmax": replace(SYSTEMS["softmax"], title="Softmax"),
    "one_vs_all": replace(SYSTEMS["one_vs_all"], title="One-vs-all"),
    "score": Look("Score", "#56B4E9", "triangle-down", (10, 4)),
    "confidence": Look("Confidence", "#009E73", "cross", (4, 2, 1, 2)),
    "triage": Look("Differentiable triage", "#CC79A7", "diamond", (2, 2)),
    "confidence_as_written": Look("Confidence, as the paper's text has it", "#009E73", "triangle-left", (1, 3)),
    "selective": Look("Selective prediction", "#56B4E9", "triangle-right", (3, 3)),
    "compare_confidence": Look("Compare confidence", GREY, "triangle-up", (7, 2)),
}
SHOWN_FIRST = ("softmax", "one_vs_all", "score", "confidence", "triage")  # those of the paper
RULES = {
    "forced": "Forced: exactly so many are deferred",
    "capped": "Capped: at most so many, and only those that the method would defer",
}
SCALING = {
    "none": replace(ESTIMATORS["sigmoid"], title="As trained"),
    "temperature": Look("Temperature", ESTIMATORS["sigmoid"].color, "triangle-up", (6, 3)),
    "temperature, the authors' rule": Look("The authors' rule", ESTIMATORS["sigmoid"].color, "diamond", (2, 2)),
}


def title_of(surrogate: str, estimator: str) -> str:
    """What a row of a result is about, in words; an unknown name stands for itself."""
    for names, name in ((ESTIMATORS, estimator), (SCALING, estimator), (METHODS, surrogate), (SYSTEMS, surrogate)):
        if name in names:
            return names[name].title
    return estimator or surrogate
