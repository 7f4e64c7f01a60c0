"""Systems that are to be compared: their scores, brought onto the same test cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from l2d_core.comparison.author_logs import LoggedOutputs
from l2d_core.comparison.column_values import plain_id
from l2d_core.data import Scores
from l2d_core.evaluation.deferral import best_expert
from l2d_core.surrogates import SURROGATES

ORIGINS = ("shipped", "run", "upload")
HARD = 1e-12  # from 0 or 1: hard answers, not estimates


@dataclass(frozen=True)
class System:
    """A system that was trained: its scores on test and, for recalibration, on validation cases, where there are any.

    test: scores, or what authors logged, without labels. origin: one of `ORIGINS`. settings: what to show of it.
    columns: what else is known of the test cases, such as age and sex, one row per case.
    """

    name: str
    test: Scores | LoggedOutputs
    validation: Scores | None = None
    origin: str = "run"
    settings: Mapping[str, Any] | None = None
    columns: pd.DataFrame | None = None


def align(systems: Sequence[System]) -> tuple[list[System], tuple[str, ...]]:
    """The systems on the test cases that all of them have, by id, in the order of the first; and what to note.

    Cases that a system's expert has not answered are left out. ValueError where the classes differ, no case is left,
    two systems give a case other labels, an id comes twice, or logged outputs, which have no ids, differ in length.
    """
    if any(isinstance(one.test, LoggedOutputs) for one in systems):
        return _align_logged(systems)
    for other in systems[1:]:
        _require_same_classes(systems[0], other)
    if len(systems) > 1:
        _require_unique_ids(systems)
    systems, renamed = _with_plain_ids(systems)
    ids = scores_of(systems[0]).ids
    if not all(np.array_equal(scores_of(one).ids, ids) for one in systems[1:]):
        ids = _shared_ids(systems)
    chosen = [one if scores_of(one).ids is ids else _pick(one, ids) for one in systems]
    answered = np.logical_and.reduce([_is_answered(scores_of(one)) for one in chosen])
    if not answered.any():
        raise ValueError(f"no test case is in all of {_names(systems)} with an answer of each system's expert")
    if not answered.all():
        chosen = [_rows(one, np.flatnonzero(answered)) for one in chosen]
    _require_same_labels(chosen)
    return chosen, (*renamed, *_notes(systems, chosen))


def confidence_note(test: Scores | LoggedOutputs) -> str:
    """What to note where the probabilities of the machine's classes, or of asking, are 0 or 1 in all cases; else ""."""
    num_experts = 1 if isinstance(test, LoggedOutputs) else test.num_experts
    numbers = torch.from_numpy(np.asarray(test.logits, dtype=np.float64).copy())
    probabilities = SURROGATES[test.surrogate].probabilities(numbers, num_experts).numpy()
    is_hard = np.minimum(probabilities, 1 - probabilities) <= HARD
    told = {
        "the expert (ECE and reliability only tell how often it is right)": is_hard[:, -num_experts:].all(),
        "the machine": is_hard[:, :-num_experts].all(),
    }
    whom = " and of ".join(name for name, hard in told.items() if hard)
    return f"no confidence available of {whom}: in all cases the probabilities are 0 or 1" if whom else ""


def scores_of(system: System) -> Scores:
    """The test scores of a system that has labels; ValueError for logged outputs."""
    if isinstance(system.test, LoggedOutputs):
        raise ValueError(f"{system.name} comes without labels")
    return system.test


def _names(systems: Sequence[System]) -> str:
    return ", ".join(one.name for one in systems)


def _align_logged(systems: Sequence[System]) -> tuple[list[System], tuple[str, ...]]:
    others = [one.name for one in systems if not isinstance(one.test, LoggedOutputs)]
    if others:
        raise ValueError(f"logged outputs have no ids and no labels: compare them without {', '.join(others)}")
    lengths = {len(one.test.logits) for one in systems}
    if len(lengths) > 1:
        raise ValueError(f"logged outputs must have as many cases as each other, got {sorted(lengths)}")
    note = "Logged outputs come without labels and ids: they are taken to be the same cases in a row."
    return list(systems), (note, *_confidence_notes(systems))


def _confidence_notes(systems: Sequence[System]) -> list[str]:
    return [f"{one.name}: {note}." for one in systems if (note := confidence_note(one.test))]


def _require_same_classes(first: System, other: System) -> None:
    ours, theirs = scores_of(first).class_names, scores_of(other).class_names
    if ours != theirs:
        raise ValueError(
            f"{first.name} and {other.name} must have the same classes in one order, got {', '.join(ours)} and "
            f"{', '.join(theirs)}"
        )


def _require_unique_ids(systems: Sequence[System]) -> None:
    for one in systems:
        own = pd.Index(scores_of(one).ids)
        if own.has_duplicates:
            raise ValueError(f"{one.name} has the id {own[own.duplicated()][0]!r} twice")


def _with_plain_ids(systems: Sequence[System]) -> tuple[Sequence[System], tuple[str, ...]]:
    """The systems with ids without folders and endings of images, and a note, where more cases are shared by these."""
    ids = [scores_of(one).ids for one in systems]
    if all(np.array_equal(ids[0], other) for other in ids[1:]):
        return systems, ()
    plain = [np.array([plain_id(case) for case in own.tolist()], dtype=str) for own in ids]
    shared, shared_plain = (len(set.intersection(*map(set, map(np.ndarray.tolist, some)))) for some in (ids, plain))
    if shared_plain <= shared or any(len(set(own.tolist())) < len(own) for own in plain):
        return systems, ()
    note = "Cases are matched by their ids without folders and without the endings of image files."
    return [replace(one, test=replace(scores_of(one), ids=own)) for one, own in zip(systems, plain, strict=True)], (
        note,
    )


def _shared_ids(systems: Sequence[System]) -> np.ndarray:
    shared = pd.Index(scores_of(systems[0]).ids)
    for one in systems:
        shared = shared[shared.isin(pd.Index(scores_of(one).ids))]
    return shared.to_numpy()


def _pick(system: System, ids: np.ndarray) -> System:
    own = scores_of(system).ids
    return system if np.array_equal(own, ids) else _rows(system, pd.Index(own).get_indexer(pd.Index(ids)))


def _rows(system: System, rows: np.ndarray) -> System:
    if len(rows) == 0:
        raise ValueError("the systems have no test case in common: their ids differ")
    columns = None if system.columns is None else system.columns.iloc[rows]
    return replace(system, test=scores_of(system).subset(rows), columns=columns)


def _is_answered(scores: Scores) -> np.ndarray:
    return scores.answers[np.arange(len(scores)), best_expert(scores.logits, scores.num_experts)] >= 0


def _require_same_labels(systems: Sequence[System]) -> None:
    first = scores_of(systems[0])
    for other in systems[1:]:
        differs = first.labels != scores_of(other).labels
        if differs.any():
            row = int(differs.argmax())
            names = [scores.class_names[scores.labels[row]] for scores in (first, scores_of(other))]
            raise ValueError(
                f"{systems[0].name} and {other.name} must agree on the labels, but {first.ids[row]} is {names[0]} in "
                f"the one and {names[1]} in the other ({int(differs.sum()):,} such cases)"
            )


def _notes(systems: Sequence[System], chosen: Sequence[System]) -> list[str]:
    kept = len(scores_of(chosen[0]))
    notes = [
        f"{one.name}: {len(scores_of(one)) - kept:,} of its {len(scores_of(one)):,} test cases are not compared, since "
        "another system lacks them or an expert has not answered."
        for one in systems
        if len(scores_of(one)) > kept
    ]
    first = _expert_classes(chosen[0])
    for other in chosen[1:]:
        share = float((first != _expert_classes(other)).mean())
        if share > 0:
            notes.append(
                f"{chosen[0].name} and {other.name} ask different experts: the answers differ in {100 * share:.1f} % "
                "of the cases, so that a difference between them is not one of the systems alone."
            )
    return [*notes, *_confidence_notes(chosen)]


def _expert_classes(system: System) -> np.ndarray:
    scores = scores_of(system)
    return scores.answers[np.arange(len(scores)), best_expert(scores.logits, scores.num_experts)]
