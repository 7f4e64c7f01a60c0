"""Who is served worse? One of the compared systems, by what its cases bring along: sex, age, site, or other columns."""

import numpy as np
import streamlit as st

from app.compare import state
from app.compare.evaluation import Evaluation
from app.kit import groups
from l2d_core.comparison.systems import scores_of
from l2d_core.evaluation.groups import MAX_CASES, cases_of

LESION = "lesion"  # the column whose cases belong together
WHAT_TO_BRING = (
    "Other columns of an uploaded table, such as age, sex or hospital, appear here as groups. These systems bring "
    "none, so only the classes can be compared."
)


def draw(evaluation: Evaluation) -> None:
    """Draw the panel, which measures nothing until it is opened."""
    panel = st.expander(groups.TITLE, icon=":material/groups:", on_change="rerun", key=state.GROUPS)
    if not panel.open:
        return
    with panel:
        if evaluation.comparison.num_cases > MAX_CASES:
            st.info(f"Groups are compared for at most {MAX_CASES:,} cases.")
            return
        _draw_groups(evaluation)


def _draw_groups(evaluation: Evaluation) -> None:
    place = evaluation.names.index(groups.choose("System", evaluation.names, state.GROUPS_OF))
    scores, known = scores_of(evaluation.comparison.systems[place]), evaluation.comparison.cases_known_by
    classes = np.array(scores.class_names)[scores.labels]
    found = groups.groupings(known.drop(columns=LESION, errors="ignore"))
    if not found:
        st.caption(WHAT_TO_BRING)
    has_lesions = LESION in known and known[LESION].notna().all()
    cases = cases_of(
        [evaluation.views[place]],
        [evaluation.deferred[place]],
        strata=classes,
        clusters=known[LESION].to_numpy(dtype=str) if has_lesions else np.arange(len(scores)).astype(str),
    )
    groups.draw(
        cases,
        found | {"class": classes},
        groups.Words(
            f"The {len(cases):,} test cases, at this cost and budget.", clusters="lesions" if has_lesions else ""
        ),
        by_key=state.GROUPS_BY,
        mix_key=state.GROUPS_MIX,
    )
