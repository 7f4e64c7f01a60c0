"""Who is served worse? The shipped systems on their test cases, by age, sex, site and diagnosis."""

import numpy as np

from app.kit import groups
from app.kit.looks import SYSTEMS
from app.lesions import state
from app.lesions.judged import Deciding
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import view_scores
from l2d_core.evaluation.groups import cases_of


def draw(by: Deciding) -> None:
    """Draw the panel for the system that decides, with the expert that is chosen."""
    scores = by.systems.reference.scores[by.rule.leader]
    known = by.system.gallery.cases.set_index("id").loc[scores.ids]
    titles = LAB_DATASETS["ham10000"].class_titles
    diagnoses = np.array([titles.get(name, name) for name in scores.class_names])[scores.labels]
    cases = cases_of(
        [view_scores(scores)],
        [defer_by_argmax(scores.logits)],
        strata=diagnoses,
        clusters=known["lesion"].to_numpy(dtype=str),
    )
    caption = (
        f"The {len(cases):,} test cases of HAM10000; {SYSTEMS[by.rule.leader].title}, which decides without a budget "
        "here."
    )
    groups.draw(
        cases,
        groups.groupings(known.drop(columns="lesion")) | {"diagnosis": diagnoses},
        groups.Words(caption, "diagnoses", "lesions"),
        by_key=state.GROUPS_BY,
        mix_key=state.GROUPS_MIX,
    )
