"""What our numbers say beside the paper's: the kind of each finding, and a sentence with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.common.checks import require_known

Values = Sequence[float | None]  # one share in 0..1 per seed
# What a sentence calls an estimator, a surrogate or a baseline.
WORDS = {
    "sigmoid": "one-vs-all",
    "odds": "softmax odds",
    "proxy": "softmax proxy",
    "one_vs_all": "one-vs-all",
    "confidence_as_written": "confidence-as-written",
    "compare_confidence": "compare-confidence",
}
KINDS = {
    "open": "nothing can be concluded: the difference is not significant, there is one seed, or no number",
    "agrees": "as in the paper",
    "differs": "unlike in the paper",
    "beside": "a statement on our numbers alone",
}
NOT_SIGNIFICANT = "not significantly different over these seeds"
ONE_SEED = "one seed, so no test is possible"


@dataclass(frozen=True)
class Finding:
    """A sentence computed from the numbers of a result. kind: a name in KINDS; ValueError on any other."""

    kind: str
    text: str

    def __post_init__(self) -> None:
        require_known("kind", self.kind, KINDS)


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences over seeds, and half the width of its 95 % interval.

    mean: None without a pair; half_width: None for fewer than two pairs.
    """

    mean: float | None
    half_width: float | None

    @classmethod
    def between(cls, first: Values, other: Values) -> "Difference":
        """First minus other, over the seeds for which both are known."""
        pairs = zip(first, other, strict=True)
        return cls(*mean_and_interval([a - b for a, b in pairs if a is not None and b is not None]))

    @property
    def sign(self) -> int:
        """-1 (lower) or 1 (higher); 0 where the interval holds 0, or there is no difference.

        Of a single pair, the sign of its difference.
        """
        if not self.mean or (self.half_width is not None and abs(self.mean) <= self.half_width):
            return 0
        return -1 if self.mean < 0 else 1

    def kind(self, paper_sign: int) -> str:
        """The kind of a finding on it. paper_sign: that of the paper's difference, 0 where the paper gives none."""
        if self.sign == 0 or self.half_width is None:
            return "open"
        if paper_sign == 0:
            return "beside"
        return "agrees" if self.sign == paper_sign else "differs"

    def words(self, paper_sign: int) -> str:
        """Lower or higher, as in the paper or unlike it; or that the difference is not significant."""
        if self.sign == 0:
            return NOT_SIGNIFICANT
        theirs = {0: "", self.sign: ", as in the paper"}.get(paper_sign, ", unlike in the paper")
        return f"{'lower' if self.sign < 0 else 'higher'}{theirs}{f' ({ONE_SEED})' if self.half_width is None else ''}"


def say_level(what: str, values: Values, paper: float) -> Finding:
    """Whether the paper's number lies in the 95 % interval of our mean, one value per seed; else on which side."""
    mean, half_width = mean_and_interval(values)
    if mean is None:
        return Finding("open", f"{what}: no number of ours, the paper has {_number(paper)}.")
    ours = f"{what}: ours {_with_interval(mean, half_width)}, the paper's {_number(paper)}"
    if half_width is None:
        return Finding("open", f"{ours}; {ONE_SEED}.")
    if abs(mean - paper) <= half_width:
        return Finding("agrees", f"{ours}: they agree within the interval of our seeds.")
    side = "higher" if mean > paper else "lower"
    return Finding("differs", f"{ours}: ours is {side}, by more than our seeds differ.")


def say_order(
    what: str,
    names: tuple[str, str],
    values: tuple[Values, Values],
    paper: tuple[float, float] | None,
    *,
    paper_sign: int = 0,
) -> Finding:
    """Whether the first is lower or higher than the second, by paired differences over seeds, and as in the paper.

    values: one number per seed each, of the same seeds. paper: the paper's two numbers; or paper_sign, -1 or 1, where
    it only says which is lower or higher; 0 where it says nothing.
    """
    if paper is not None:
        paper_sign = int(np.sign(paper[0] - paper[1]))
    gap = Difference.between(*values)
    if gap.mean is None:
        return Finding("open", f"{what}: there is nothing to compare.")
    shown = " and ".join(
        f"{name} {_number(mean_and_interval(own)[0] or 0.0)}" for name, own in zip(names, values, strict=True)
    )
    theirs = "" if paper is None else f" (paper: {_number(paper[0])} and {_number(paper[1])})"
    by = f"{100 * abs(gap.mean):.2f}{'' if gap.half_width is None else f' ± {100 * gap.half_width:.2f}'} points"
    subject = f"{names[0]} is" if gap.sign else "the two are"
    return Finding(
        gap.kind(paper_sign), f"{what}: {shown}{theirs}: {subject} {gap.words(paper_sign)}; they differ by {by}."
    )


def _with_interval(mean: float, half_width: float | None) -> str:
    return _number(mean) if half_width is None else f"{100 * mean:.2f} ± {100 * half_width:.2f} %"


def _number(value: float) -> str:
    return f"{100 * value:.2f} %"
