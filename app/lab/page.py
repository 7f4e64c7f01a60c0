"""Live lab: when may we believe that the expert will be right?"""

from types import ModuleType

import streamlit as st

from app.fits import shared
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.lab import settings_panel, state
from app.sharing import state as sharing_state
from app.sharing import teacher
from l2d_core.datasets import LAB_DATASETS


def results() -> ModuleType:
    """What draws them. The library for its charts takes a while to import, which it can do while the first fit runs."""
    from app.lab import results as lab_results

    return lab_results


with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title("Live lab", anchor=False, width="content")
    st.markdown("When may we believe that the expert will be right?", width="content")
teacher_settings = sharing_state.teacher()
teacher.draw(teacher_settings)
with st.sidebar:
    settings = settings_panel.draw(teacher_settings)
if LAB_DATASETS[settings.dataset].is_medical:
    st.caption(f"{MEDICAL_ICON} {DIAGNOSIS_NOTE}")
binning = state.binning()
status = st.empty()
seeds = "1 seed" if settings.num_seeds == 1 else f"{settings.num_seeds} seeds"
try:
    result = shared.fit_board().get(
        settings,
        lambda on_progress: shared.workers().run(settings, binning, on_progress=on_progress),
        lambda done: status.progress(done, f"Training for {seeds}: {done:.0%}"),
        meanwhile=results,
    )
except (OSError, ValueError) as problem:
    status.error(str(problem))
else:
    status.caption(
        f"Trained {settings.num_seeds} x {len(settings.surrogates)} heads on {result.num_train:,} cases in "
        f"{result.seconds:.2f} s; scored on {result.num_test:,} test cases."
    )
    if teacher.is_revealed(teacher_settings, settings):
        results().draw(result)
