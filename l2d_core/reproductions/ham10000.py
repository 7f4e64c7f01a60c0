"""HAM10000, the risk of asking the expert: how far the predicted error lies from the true one, and all measures."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from l2d_core.common.paths import PRETRAINED
from l2d_core.data import Scores
from l2d_core.datasets.image_features import load_splits
from l2d_core.evaluation.accuracy import Statistic, balanced_accuracy, class_table, expert_is_right, machine_is_right
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import risk_histogram
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.evaluation.summary import measure, pooled_view
from l2d_core.experts.simulated import DERMATOLOGIST_RECALL, per_class
from l2d_core.experts.stored_answers import StoredAnswers, open_answers
from l2d_core.lab import heads
from l2d_core.reproductions.findings import WORDS, Finding, say_order
from l2d_core.reproductions.measured import Value, pick, rows_of
from l2d_core.reproductions.reproduction import Reproduction, as_table
from l2d_core.reproductions.request import Request
from l2d_core.runs.folder import list_runs, open_run

NETWORKS = PRETRAINED / "ham10000"
MIXER = NETWORKS / "expert"
# Verma and Nalisnick 2022: the distance between predicted and true error, and how often their expert is right.
PAPER = {("sigmoid", "risk_distance"): 0.0802, ("odds", "risk_distance"): 0.2672}
PAPER |= {(name, "expert_alone"): 0.74 for name in ("odds", "sigmoid")}
Seeds = Mapping[str, Sequence[Scores]]

NOTES = (
    "ECE: 15 bins of equal width over all test cases, estimates above 1 set to 1.",
    "Split by lesion, 60/20/20, the same for all seeds; the paper splits by image, with lesions on both sides.",
    "The true error is the expert's share of wrong answers in the class of each case, on the test cases. An estimate "
    "sees the image, not the class: not even a perfect one reaches distance 0, and one that is spread out too far can "
    "come nearer than a calibrated one. The paper does not say how it knows the true error of a case.",
    "Heads are linear, on 128 components of the features of a network that never saw these images in training; a seed "
    "decides the order of the batches, and the answers of an expert of given recalls. The paper fine-tunes ResNet34, "
    "six times; the networks here are EfficientNet-Lite0, one seed each.",
    "The MLP-Mixer has answered its own training images too, as in the paper. It sees age, sex and site, but not "
    "dx_type, which the authors give it and which leaks the answer.",
)


def ham10000(request: Request) -> Reproduction:
    """From what is shipped: heads on frozen features with two experts, and the fine-tuned networks, if present.

    details: "classes", accuracies by class, with n; "risk_histograms", predicted and true.
    FileNotFoundError where the features or the mixer's answers are missing; ValueError at another scale than quick.
    """
    request.only_quick("ham10000")
    start, seeds = time.perf_counter(), request.seeds
    splits, stored = load_splits("ham10000", 0), open_answers(MIXER)
    recalls = per_class([DERMATOLOGIST_RECALL[name] for name in splits.train.class_names])
    systems: dict[str, Seeds] = {
        "heads, MLP-Mixer": heads.fit(splits.train, splits.test, None, people=_said_by(stored), seeds=seeds).scores,
        "heads, the paper's recalls": heads.fit(splits.train, splits.test, recalls, seeds=seeds).scores,
    }
    if networks := _networks():
        systems["fine-tuned networks, the paper's recalls"] = networks
    values = [one for setting, scores in systems.items() for one in _values(setting, scores)]
    paper = {one.key: PAPER[one.estimator, one.measure] for one in values if (one.estimator, one.measure) in PAPER}
    return Reproduction(
        title="HAM10000: the risk of asking the expert",
        table=as_table(rows_of(values, paper)),
        details={
            "classes": pd.concat([_classes(*one) for one in systems.items()], ignore_index=True),
            "risk_histograms": pd.concat([_histograms(*one) for one in systems.items()], ignore_index=True),
        },
        notes=NOTES + _left_out(systems),
        findings=tuple(_finding(values, setting, measure) for setting in systems for measure in _COMPARED),
        seconds=time.perf_counter() - start,
    )


def _said_by(stored: StoredAnswers) -> heads.People:
    row_of = {str(name): place for place, name in enumerate(stored.ids)}
    return lambda ids, _seed: stored.answers[[row_of[str(name)] for name in ids]].astype(np.int64)


def _networks() -> dict[str, list[Scores]]:
    """Surrogate -> the test scores of the shipped network, in the order of the registry."""
    runs = [open_run(entry.folder) for entry in list_runs(NETWORKS) if entry.state == "done" and not entry.problem]
    found = {run.config.surrogate: [run.test] for run in runs}
    return {name: found[name] for name in ("softmax", "one_vs_all") if name in found}


def _true_probability(scores: Scores) -> np.ndarray:
    """The expert's share of right answers in the class of each case, (N,)."""
    table = class_table(scores, np.zeros(len(scores), dtype=bool))
    return table["expert_alone"].to_numpy()[scores.labels]


def _values(setting: str, scores: Seeds) -> list[Value]:
    """All measures of each seed, in the paper's setting and with every class counting the same."""
    truth = _true_probability(next(iter(scores.values()))[0])
    return [
        Value(setting, surrogate, estimator, name, share)
        for surrogate, estimator in estimators_of(list(scores))
        for one in scores[surrogate]
        for name, share in measure(one, estimator, bins=15, strategy="equal_width", true_probability=truth).items()
    ] + [
        Value(
            setting,
            surrogate,
            "",
            name,
            Statistic(balanced_accuracy(who(one), one.labels, one.class_names).value, len(one)),
        )
        for surrogate, own in scores.items()
        for name, who in _RIGHT.items()
        for one in own
    ]


def _left_out(systems: Mapping[str, Seeds]) -> tuple[str, ...]:
    """A note on the balanced accuracies where classes have no test cases."""
    tests = [one for scores in systems.values() for own in scores.values() for one in own]
    found = (balanced_accuracy(machine_is_right(one), one.labels, one.class_names).left_out for one in tests)
    names = list(dict.fromkeys(name for left_out in found for name in left_out))
    note = f"Balanced accuracies leave out the classes without test cases: {', '.join(names)}."
    return (note,) if names else ()


def _system_is_right(scores: Scores) -> np.ndarray:
    deferred = defer_by_argmax(scores.logits, scores.num_experts)
    return np.where(deferred, expert_is_right(scores), machine_is_right(scores))


_RIGHT: dict[str, Callable[[Scores], np.ndarray]] = {
    "balanced_machine_alone": machine_is_right,
    "balanced_expert_alone": expert_is_right,
    "balanced_system": _system_is_right,
}


def _classes(setting: str, scores: Seeds) -> pd.DataFrame:
    """`class_table` of each surrogate, the mean over the seeds."""
    parts = []
    for name, own in scores.items():
        tables = [class_table(one, defer_by_argmax(one.logits, one.num_experts)) for one in own]
        numbers = np.mean([table.drop(columns=["class", "n"]).to_numpy() for table in tables], axis=0)
        mean = pd.DataFrame(numbers, columns=tables[0].columns[2:])
        parts.append(pd.concat([tables[0][["class", "n"]], mean], axis=1).assign(setting=setting, surrogate=name))
    return pd.concat(parts, ignore_index=True)


def _histograms(setting: str, scores: Seeds) -> pd.DataFrame:
    """Shares of the cases by predicted risk and by true risk, in bins; risks below 0 are in no bin."""
    true = risk_histogram(1 - _true_probability(next(iter(scores.values()))[0]))
    parts = [true.assign(setting=setting, estimator="true")]
    for surrogate, estimator in estimators_of(list(scores)):
        raw = pooled_view(scores[surrogate], estimator).probability
        parts.append(risk_histogram(1 - raw).assign(setting=setting, estimator=estimator))
    return pd.concat(parts, ignore_index=True)


_COMPARED = {"risk_distance": "distance between predicted and true error", "ece": "ECE"}


def _finding(values: list[Value], setting: str, measure: str) -> Finding:
    """Which is lower, by paired differences over the seeds; the paper gives the distances only."""
    start, pair = f"{setting}, {_COMPARED[measure]}", ("sigmoid", "odds")
    if not {(setting, name) for name in pair} <= {(one.setting, one.estimator) for one in values}:
        return Finding("open", f"{start}: one of the two systems is missing, so that there is nothing to compare.")
    paper = (PAPER["sigmoid", measure], PAPER["odds", measure]) if ("odds", measure) in PAPER else None
    ours = (pick(values, setting, "sigmoid", measure), pick(values, setting, "odds", measure))
    return say_order(start, (WORDS["sigmoid"], WORDS["odds"]), ours, paper)
