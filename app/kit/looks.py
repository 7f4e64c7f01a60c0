"""The looks of estimators, systems and parties on all pages: colour, marker and dash, never colour alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """color: from the Okabe-Ito palette; shape: Vega's name; dash: Vega's on-off lengths in pixels."""

    title: str
    color: str
    shape: str
    dash: tuple[int, ...]


ESTIMATORS = {
    "odds": Look("Softmax odds", "#D55E00", "square", (6, 3)),
    "proxy": Look("Softmax proxy", "#CC79A7", "diamond", (2, 2)),
    "sigmoid": Look("One-vs-all", "#0072B2", "circle", (1, 0)),
    "probability": Look("Asymmetric softmax", "#E69F00", "triangle-up", (8, 3, 2, 3)),
}

# A system is named after the estimator that its surrogate is known for; softmax's two estimators share one system.
SYSTEMS = {
    "softmax": Look("Softmax system", "#D55E00", "square", (6, 3)),
    "one_vs_all": Look("One-vs-all system", "#0072B2", "circle", (1, 0)),
    "asymmetric_softmax": Look("Asymmetric softmax system", "#E69F00", "triangle-up", (8, 3, 2, 3)),
}

# For pictures that are not about estimators.
PARTIES = {
    "machine": Look("The machine", "#56B4E9", "triangle-up", (1, 0)),
    "expert": Look("The expert", "#009E73", "diamond", (4, 2)),
    "system": Look("Both together", "#0072B2", "circle", (1, 0)),
}

GREY = "#808892"
