"""Accuracy: of the system against how many classes the expert knows, and of the machine against coverage.

The design is that of the authors' logged runs; ours is kept beside it, under its own name.
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from l2d_core.calibration.intervals import mean_and_interval
from l2d_core.data import Scores
from l2d_core.evaluation.accuracy import Statistic, machine_is_right
from l2d_core.evaluation.curves import curves_at
from l2d_core.evaluation.deferral import defer_by_argmax, defer_margin
from l2d_core.evaluation.margins import margin_of_scores
from l2d_core.evaluation.measures import measure_title
from l2d_core.reproductions.experiment import HALF, first_k, sure_of
from l2d_core.reproductions.findings import Difference, Finding, say_order
from l2d_core.reproductions.measured import Key, Value, Values, mean_of, measure_estimators, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request, notes_of
from l2d_core.reproductions.trained import TrainedSystems, shipped_systems, train_systems, trainings_of

KS = tuple(range(2, 9))
COVERAGE_K = 5
PAPER_ORDER = "probabilities"
ORDERS: dict[str, Callable[[Scores], np.ndarray]] = {
    PAPER_ORDER: margin_of_scores,
    "logits": lambda scores: defer_margin(scores.logits),
}
COVERAGES = np.round(np.arange(0.1, 1.01, 0.1), 10)
# The authors' logged runs, by argmax over all cases, means over five seeds: k -> surrogate -> system accuracy,
# coverage, accuracy of the classifier on what it keeps.
PAPER = {
    2: {"softmax": (0.8737, 0.752, 0.8751), "one_vs_all": (0.8569, 0.868, 0.8586)},
    4: {"softmax": (0.8950, 0.584, 0.8967), "one_vs_all": (0.8900, 0.643, 0.8822)},
    6: {"softmax": (0.9330, 0.452, 0.9116), "one_vs_all": (0.9405, 0.401, 0.9106)},
    8: {"softmax": (0.9728, 0.222, 0.9213), "one_vs_all": (0.9818, 0.185, 0.9443)},
}
MEASURES = ("system", "coverage", "machine_on_kept")
AS_PLOTTED = "system_as_plotted"
Numbers = list[float | None]
Pair = tuple[Numbers, Numbers]
_ESTIMATOR = {"one_vs_all": "sigmoid", "softmax": "odds"}
_K_NOTES = (
    "The expert is always right on the first k + 1 classes and guesses among all classes on the rest, as in the "
    "authors' logs; the paper's text says 70 % on classes 1 to k. That expert is kept as ours: '70 % expert'.",
    "The paper's numbers are those of the authors' logs, by argmax over all cases. Their plotting code computes "
    "one-vs-all's accuracy otherwise: without the cases in which no score is above 0 or exactly two classes' scores "
    "are; so does 'as the authors plot it'. By the decisions themselves the authors' one-vs-all is lower than softmax "
    "at k = 2 and 4.",
)
_COVERAGE_NOTES = (
    "The paper's figure has one point for each k: the coverage at which a system decides by its own rule, and the "
    "accuracy on what it keeps.",
    f"Ours beside it sweeps a threshold at k = {COVERAGE_K} with the 70 % expert, and for shipped networks: cases are "
    "kept in the order of max_k p_k - p_d, the largest first, p a softmax for softmax and sigmoids for one-vs-all, "
    "whether or not the system would defer them. By logits, max_k g_k - g_d, the same decisions have other curves.",
)


def k(request: Request) -> Reproduction:
    """System accuracy for k = 2..8, with the paper's expert, and at the scale quick with ours.

    details: "curve": k, surrogate, mean, half_width, n, seeds, of the paper's expert; "ours": the same of ours.
    """
    start = time.perf_counter()
    systems = train_systems(request, [sure_of(number) for number in KS])
    ours = train_systems(request, [first_k(number) for number in KS]) if request.scale == "quick" else []
    values = [*_measured(systems + ours), *(one for system in systems for one in _as_plotted(system))]
    pairs, our_pairs = ([_pair(values, one.title, "system") for one in own] for own in (systems, ours))
    findings = [_order(number, one.title, pair, 0) for number, one, pair in zip(KS, systems, pairs, strict=True)]
    return Reproduction(
        title="System accuracy against k, the classes that the expert knows",
        table=as_table(rows_of(values, _paper_numbers(systems))),
        details={
            "curve": _curve(systems, pairs),
            **({"ours": _curve(ours, our_pairs)} if ours else {}),
            **trainings_of(systems),
        },
        notes=notes_of(request, *_K_NOTES),
        findings=(
            _count("The paper's expert, system accuracy", pairs, "k"),
            *findings,
            *([_count("Our 70 % expert, system accuracy", our_pairs, "k")] if ours else []),
        ),
        seconds=time.perf_counter() - start,
    )


def coverage(request: Request) -> Reproduction:
    """Accuracy of the machine on the cases it keeps: one point for each k, as in the paper; and by a swept threshold.

    details: "points": k, surrogate, coverage, mean, half_width, n, seeds; "curves", ours: system, order, coverage,
    surrogate, measure (machine_accuracy or system_accuracy), mean, half_width, n, seeds.
    """
    start = time.perf_counter()
    systems = train_systems(request, [sure_of(number) for number in KS])
    swept = train_systems(request, [first_k(COVERAGE_K)]) + shipped_systems(request, HALF)
    read = {(one.title, order): _read(one, order) for one in swept for order in ORDERS}
    first = [value for (_, order), values in read.items() if order == PAPER_ORDER for value in values]
    values = _measured(systems)
    pairs = [_pair(values, one.title, "machine_on_kept") for one in systems]
    return Reproduction(
        title="Accuracy of the machine on the cases it keeps, against coverage",
        table=as_table([*rows_of(values, _paper_numbers(systems)), *rows_of(first)]),
        details={
            "points": _points(systems, values),
            "curves": pd.concat([_curves(*key, own) for key, own in read.items()], ignore_index=True),
            **trainings_of(systems + swept),
        },
        notes=notes_of(request, *_COVERAGE_NOTES, _K_NOTES[0]),
        findings=(
            _count("The paper's expert, accuracy on kept cases", pairs, "k"),
            *(_order(number, one.title, pair, 2) for number, one, pair in zip(KS, systems, pairs, strict=True)),
            *(finding for key, own in read.items() for finding in _sweep_findings(*key, own)),
        ),
        seconds=time.perf_counter() - start,
    )


def _measured(systems: list[TrainedSystems]) -> list[Value]:
    values = measure_estimators(systems, [*MEASURES, "machine_alone", "expert_alone"])
    return [one for one in values if one.estimator != "proxy"]  # the same system as the odds


def _paper_numbers(systems: list[TrainedSystems]) -> dict[Key, float]:
    return {
        (one.title, surrogate, _ESTIMATOR[surrogate], name): value
        for number, one in zip(KS, systems, strict=True)
        for surrogate, numbers in PAPER.get(number, {}).items()
        for name, value in zip(MEASURES, numbers, strict=True)
    }


def _order(number: int, title: str, pair: Pair, place: int) -> Finding:
    """Which is higher, and in the authors' logs; place: of the measure in MEASURES."""
    known = PAPER.get(number)
    paper = (known["one_vs_all"][place], known["softmax"][place]) if known else None
    what = f"{title}, {measure_title(MEASURES[place]).lower()}"
    return say_order(what, ("one-vs-all", "softmax"), pair, paper)


def accuracy_as_plotted(scores: Scores) -> Statistic:
    """One-vs-all's system accuracy over the cases that the authors' plotting code counts.

    Without the cases in which no score is above 0, and those in which exactly two classes' scores are.
    """
    positive = scores.logits > 0
    counted = positive.any(axis=1) & (positive[:, : scores.num_classes].sum(axis=1) != 2)
    right = np.where(defer_by_argmax(scores.logits), scores.expert_correct[:, 0], machine_is_right(scores))
    return Statistic.mean_of(right[counted])


def _as_plotted(system: TrainedSystems) -> list[Value]:
    own = system.test["one_vs_all"]
    return [Value(system.title, "one_vs_all", "sigmoid", AS_PLOTTED, accuracy_as_plotted(one)) for one in own]


def _points(systems: list[TrainedSystems], values: Values) -> pd.DataFrame:
    """The operating point of each k and surrogate: mean coverage, and accuracy on kept cases with its interval."""
    rows = []
    for number, one in zip(KS, systems, strict=True):
        for surrogate, name in _ESTIMATOR.items():
            kept = pick(values, one.title, name, "coverage", surrogate)
            mean, half_width = mean_and_interval(own := pick(values, one.title, name, "machine_on_kept", surrogate))
            n = mean_of(kept) * len(one.test[surrogate][0])
            rows.append((number, surrogate, mean_of(kept), mean, half_width, n, len(own)))
    return pd.DataFrame(rows, columns=["k", "surrogate", "coverage", "mean", "half_width", "n", "seeds"])


def _read(system: TrainedSystems, order: str) -> list[Value]:
    values = []
    for surrogate, own in system.test.items():
        for scores in own:
            curve = curves_at(scores, ORDERS[order](scores), COVERAGES)
            for place, share in enumerate(COVERAGES):
                kept = round(share * len(scores))
                for measure, n in (("machine_accuracy", kept), ("system_accuracy", len(scores))):
                    number = Statistic(float(curve[measure][place]), n)
                    values.append(Value(_at(system.title, share), surrogate, "", measure, number))
    return values


def _at(title: str, share: float) -> str:
    return f"{title}, coverage {share:.0%}"


def _sweep_findings(title: str, order: str, values: list[Value]) -> list[Finding]:
    """Summed up over coverages. Not the paper's experiment, so that nothing is as or unlike in the paper."""
    pairs = [_pair(values, _at(title, share), "machine_accuracy", "") for share in COVERAGES]
    start = f"Ours, {title}, accuracy on kept cases in the order of {order}"
    return [_largest(start, pairs), _count(start, pairs, "coverages")]


def _pair(values: Values, setting: str, measure: str, estimator: str | None = None) -> Pair:
    """One-vs-all's values and softmax's, one per seed."""
    one, other = ("sigmoid", "odds") if estimator is None else (estimator, estimator)
    return pick(values, setting, one, measure, "one_vs_all"), pick(values, setting, other, measure, "softmax")


def _count(what: str, pairs: list[Pair], settings: str) -> Finding:
    signs = [Difference.between(*pair).sign for pair in pairs]
    return Finding(
        "beside",
        f"{what}: over all {len(pairs)} {settings} one-vs-all is higher at {signs.count(1)}, lower at "
        f"{signs.count(-1)}, and not significantly different at {signs.count(0)}.",
    )


def _largest(what: str, pairs: list[Pair]) -> Finding:
    gaps = [Difference.between(*pair).mean or 0.0 for pair in pairs]
    at = float(COVERAGES[int(np.argmax(gaps))])
    return Finding(
        "beside", f"{what}: one-vs-all's advantage is largest at coverage {at:.0%}, {100 * max(gaps):.2f} points."
    )


def _curve(systems: list[TrainedSystems], pairs: list[Pair]) -> pd.DataFrame:
    rows = []
    for number, one, pair in zip(KS, systems, pairs, strict=True):
        for surrogate, own in zip(("one_vs_all", "softmax"), pair, strict=True):
            mean, half_width = mean_and_interval(own)
            rows.append((number, surrogate, mean, half_width, len(one.test[surrogate][0]), len(own)))
    return pd.DataFrame(rows, columns=["k", "surrogate", "mean", "half_width", "n", "seeds"])


def _curves(title: str, order: str, values: list[Value]) -> pd.DataFrame:
    table = pd.DataFrame(rows_of(values)).assign(system=title, order=order)
    shares = {_at(title, share): float(share) for share in COVERAGES}
    table["coverage"] = [shares[setting] for setting in table["setting"]]
    columns = ["system", "order", "coverage", "surrogate", "measure", "mean", "half_width", "n", "seeds"]
    return table.reindex(columns=columns)
