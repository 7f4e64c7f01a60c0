"""What is recommended for each picture: ask the expert, keep the machine's answer, or nothing; and in which order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.kit.looks import SYSTEMS
from l2d_core.evaluation.deferral import defer_by_budget
from l2d_core.evaluation.similar_cases import Reading
from l2d_core.surrogates import SURROGATES

ASK, KEEP, NONE = "ask", "keep", "none"
BADGES = {ASK: "Ask", KEEP: "Keep", NONE: "No recommendation"}
RULES = {"budget": "At most this share", "threshold": "From this margin on"}
UNLIKE = "Not like the training images."
ORDERS = {
    "risk": "Riskiest first",
    "upload": "As uploaded",
    "name": "By name",
    "margin": "By margin",
    "disagreement": "By disagreement",
}


@dataclass(frozen=True)
class Verdict:
    """The recommendation for a picture, by the system that decides.

    kind: ASK, KEEP or NONE. expert_risk, machine_risk: 1 - P(right), the expert's below 0 where its estimate is above
    1. margin: on the system's own scale. beyond: the system would ask, and the rule does not let it. other: the title
    of the system that decides otherwise by the same rule, or "". spread: between the estimators' risks of the expert.
    """

    kind: str
    expert_risk: float
    machine_risk: float
    margin: float
    beyond: bool
    other: str
    spread: float

    @property
    def risk(self) -> float:
        """That of who decides; without a recommendation it is the highest of all."""
        return {ASK: self.expert_risk, KEEP: self.machine_risk, NONE: 2.0}[self.kind]

    @property
    def sentence(self) -> str:
        """The two risks in words, that of who decides first."""
        if self.kind == NONE:
            return UNLIKE
        expert, machine = in_words(self.expert_risk), in_words(self.machine_risk)
        if self.kind == ASK:
            return f"The expert errs in about {expert}, the machine in {machine}."
        rest = "; the rule keeps it" if self.beyond else ""
        return f"The machine errs in about {machine}, the expert in {expert}{rest}."

    @property
    def note(self) -> str:
        """Whether the other system disagrees; empty where it does not."""
        if not self.other:
            return ""
        return f"{self.other} would {'keep' if self.kind == ASK else 'ask'}"


def in_words(risk: float) -> str:
    """A risk in whole percent; below 0 where an estimate is above 100 %."""
    return "less than 0 %" if risk < 0 else f"{100 * risk:.0f} %"


def decide(margins: np.ndarray, rule: str, value: float) -> np.ndarray:
    """Which of N cases are deferred, (N,) bool; value: a share for "budget", a margin for "threshold"."""
    return margins >= value if rule == "threshold" else defer_by_budget(margins, value, forced=False)


def decisions(readings: Mapping[str, Reading], rule: str, value: float) -> dict[str, dict[str, bool]]:
    """Surrogate -> digest -> whether the case is deferred by the rule, each picture counted once."""
    surrogates = next(iter(readings.values())).systems if readings else {}
    chosen = {}
    for surrogate in surrogates:
        margins = np.array([reading.systems[surrogate].margin for reading in readings.values()])
        chosen[surrogate] = dict(zip(readings, decide(margins, rule, value).tolist(), strict=True))
    return chosen


def judge(
    readings: Mapping[str, Reading], deferred: Mapping[str, Mapping[str, bool]], surrogate: str
) -> dict[str, Verdict]:
    """Digest -> verdict by the system of a surrogate.

    deferred: of `decisions`, of the pictures that get a recommendation; the others get none.
    """
    return {
        digest: _verdict(reading, surrogate, {name: by.get(digest) for name, by in deferred.items()})
        for digest, reading in readings.items()
    }


def _verdict(reading: Reading, surrogate: str, deferred: Mapping[str, bool | None]) -> Verdict:
    own, system = deferred.get(surrogate), reading.systems[surrogate]
    estimator = next(iter(SURROGATES[surrogate].estimators))
    others = [name for name, asks in deferred.items() if asks != own]
    risks = [placed.risk for placed in reading.expert.values()]
    return Verdict(
        kind=NONE if own is None else ASK if own else KEEP,
        expert_risk=reading.expert[estimator].risk,
        machine_risk=system.machine.risk,
        margin=system.margin,
        beyond=own is False and system.margin > 0,
        other=SYSTEMS[others[0]].title if others else "",
        spread=max(risks) - min(risks),
    )


Sortable = tuple[str, Verdict | None]  # the name of a file, and its verdict; None where it could not be read
_KEYS: dict[str, Callable[[Sortable], tuple]] = {
    "risk": lambda one: (one[1] is None, -one[1].risk if one[1] else 0),
    "upload": lambda _one: (),
    "name": lambda one: (one[0].casefold(),),
    "margin": lambda one: _by_margin(one[1]),
    "disagreement": lambda one: (one[1] is None, not (one[1] and one[1].other), -one[1].spread if one[1] else 0),
}


def _by_margin(verdict: Verdict | None) -> tuple:
    """Without a recommendation last, unread files after them, so that one line parts the asked from the kept."""
    if verdict is None:
        return (2, 0)
    return (int(verdict.kind == NONE), -verdict.margin)


def ordered(files: list[Sortable], order: str) -> list[int]:
    """The places of the files in one of ORDERS; of equals the earlier upload first."""
    return sorted(range(len(files)), key=lambda place: _KEYS[order](files[place]))
