"""Who is served worse? The lab's systems by age, sex, site and diagnosis, where the data set tells."""

import numpy as np
import streamlit as st

from app.fits.tables import LabResult
from app.kit import groups
from app.kit.looks import SYSTEMS
from app.lab import state
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import view_scores
from l2d_core.evaluation.groups import cases_of


def draw(result: LabResult) -> None:
    """Draw the panel, for skin lesions; it measures nothing until it is opened."""
    panel = st.expander(groups.TITLE, icon=":material/groups:", on_change="rerun", key=state.GROUPS)
    if panel.open:
        with panel:
            _draw(result)


def _draw(result: LabResult) -> None:
    name = groups.choose("System", list(result.scores)[::-1], state.GROUPS_OF, lambda name: SYSTEMS[name].title)
    ids, seeds = result.scores[name][0].ids, result.scores[name]
    known = groups.known_of_lesions(ids)
    if known is None:
        st.info("Age, sex and site are shipped for the published test cases, which another first seed leaves.")
        return
    here = np.flatnonzero(known["lesion"].notna())
    views = [view_scores(one.subset(here)) for one in seeds]
    diagnoses = np.array(result.class_names)[seeds[0].labels][here]
    known = known.iloc[here]
    groups.draw(
        cases_of(
            views,
            [defer_by_argmax(one.logits) for one in views],
            strata=diagnoses,
            clusters=known["lesion"].to_numpy(dtype=str),
        ),
        groups.groupings(known.drop(columns="lesion")) | {"diagnosis": diagnoses},
        groups.Words(_caption(len(here), len(ids), len(seeds)), "diagnoses", "lesions"),
        by_key=state.GROUPS_BY,
        mix_key=state.GROUPS_MIX,
    )


def _caption(known: int, num_test: int, num_seeds: int) -> str:
    which = f"The {known:,} test cases" if known == num_test else f"Those {known:,} of {num_test:,} test cases"
    return f"{which} whose age, sex and site are shipped; means over {num_seeds} seeds, for decisions without a budget."
