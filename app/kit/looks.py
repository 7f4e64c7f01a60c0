"""The looks of estimators, systems and parties on all pages: colour, marker and dash, never colour alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


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

# For systems whose surrogate's look is taken; all of the Okabe-Ito palette.
_SPARE = (
    Look("", "#CC79A7", "diamond", (2, 2)),
    Look("", "#56B4E9", "triangle-down", (10, 4)),
    Look("", "#009E73", "cross", (4, 2, 1, 2)),
)


def looks_of(surrogates: Sequence[str], titles: Sequence[str]) -> list[Look]:
    """A look with its title for each of at most six systems: that of its surrogate if it is still free.

    A surrogate that has no look gets a spare one.
    """
    wanted = [SYSTEMS.get(surrogate) for surrogate in surrogates]
    spare = iter(look for look in (*SYSTEMS.values(), *_SPARE) if look not in wanted)
    own = [look if look and look not in wanted[:place] else next(spare) for place, look in enumerate(wanted)]
    return [replace(look, title=title) for look, title in zip(own, titles, strict=True)]


# For pictures that are not about estimators.
PARTIES = {
    "machine": Look("The machine", "#56B4E9", "triangle-up", (1, 0)),
    "expert": Look("The expert", "#009E73", "diamond", (4, 2)),
    "system": Look("Both together", "#0072B2", "circle", (1, 0)),
}

GREY = "#808892"
