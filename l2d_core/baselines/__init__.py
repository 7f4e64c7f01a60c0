"""The methods that the paper compares with, trained as heads by the lab's own loop."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A way to decide within a budget. each_budget: one training per budget. has_cap: it may defer fewer."""

    title: str
    reference: str
    each_budget: bool = False
    has_cap: bool = True


METHODS: Mapping[str, Method] = {
    "softmax": Method("Softmax", "Mozannar and Sontag 2020"),
    "one_vs_all": Method("One-vs-all", "Verma and Nalisnick 2022"),
    "score": Method("Score", "Raghu and others 2019", has_cap=False),
    "confidence": Method("Confidence", "Bansal and others 2021", each_budget=True),
    "confidence_as_written": Method("Confidence, as the paper's text has it", "Bansal and others 2021", True),
    "triage": Method("Differentiable triage", "Okati and others 2021", each_budget=True),
    "selective": Method("Selective prediction", "a score with a threshold at the expert's accuracy"),
    "compare_confidence": Method("Compare confidence", "Raghu and others 2019"),
}
