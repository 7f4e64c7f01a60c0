"""What numbers say beside the paper's, in words that follow from their intervals over the seeds."""

from collections.abc import Sequence

import numpy as np

from l2d_core.calibration.intervals import mean_and_interval

Values = Sequence[float | None]  # shares in 0..1, a seed each
# What a sentence calls an estimator, a surrogate or a baseline.
WORDS = {
    "sigmoid": "one-vs-all",
    "odds": "softmax odds",
    "proxy": "softmax proxy",
    "one_vs_all": "one-vs-all",
    "confidence_as_written": "confidence-as-written",
    "compare_confidence": "compare-confidence",
}


def say_level(what: str, values: Values, paper: float) -> str:
    """Whether the paper's number lies in the 95 % interval of the mean of ours, a value a seed, or to which side."""
    mean, half_width = mean_and_interval(values)
    if mean is None:
        return f"{what}: no number of ours, the paper has {_number(paper)}."
    ours = f"{what}: ours {_with_interval(mean, half_width)}, the paper's {_number(paper)}"
    if half_width is None:
        return f"{ours}; one seed, so that chance is not told apart."
    if abs(mean - paper) <= half_width:
        return f"{ours}: they agree within the interval of our seeds."
    side = "higher" if mean > paper else "lower"
    return f"{ours}: ours is {side}, by more than our seeds differ."


def say_order(
    what: str,
    names: tuple[str, str],
    values: tuple[Values, Values],
    paper: tuple[float, float] | None,
    *,
    paper_sign: int = 0,
) -> str:
    """Whether the first is lower or higher than the second, by paired differences over seeds, and as in the paper.

    values: a number a seed each, of the same seeds. paper: the paper's two numbers; or paper_sign, -1 or 1, where it
    only says which is lower or higher; 0 where it says nothing.
    """
    if paper is not None:
        paper_sign = int(np.sign(paper[0] - paper[1]))
    gap, half_width = paired_gap(*values)
    if gap is None:
        return f"{what}: there is nothing to compare."
    shown = " and ".join(
        f"{name} {_number(mean_and_interval(own)[0] or 0.0)}" for name, own in zip(names, values, strict=True)
    )
    theirs = "" if paper is None else f" (paper: {_number(paper[0])} and {_number(paper[1])})"
    by = f"{100 * abs(gap):.2f}{'' if half_width is None else f' ± {100 * half_width:.2f}'} points"
    words = verdict(gap, half_width, paper_sign)
    told = f"the two are {words}" if words.startswith("not") else f"{names[0]} is {words}"
    return f"{what}: {shown}{theirs}: {told}; they differ by {by}."


def paired_gap(first: Values, other: Values) -> tuple[float | None, float | None]:
    """The mean of first less other and half its 95 % interval, over the seeds for which there are both."""
    return mean_and_interval(
        [a - b for a, b in zip(first, other, strict=True) if a is not None and b is not None],
    )


def verdict(gap: float, half_width: float | None, paper_sign: int) -> str:
    """In words: lower or higher, as in the paper or unlike it; or not told apart by these seeds."""
    if gap == 0 or (half_width is not None and abs(gap) <= half_width):
        return "not told apart by these seeds"
    side = "lower" if gap < 0 else "higher"
    theirs = {0: "", int(np.sign(gap)): ", as in the paper"}.get(paper_sign, ", unlike in the paper")
    return f"{side}{theirs}{'' if half_width is not None else ' (one seed, so that chance is not told apart)'}"


def _with_interval(mean: float, half_width: float | None) -> str:
    return _number(mean) if half_width is None else f"{100 * mean:.2f} ± {100 * half_width:.2f} %"


def _number(value: float) -> str:
    return f"{100 * value:.2f} %"
