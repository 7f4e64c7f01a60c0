"""Live lab: set how good an expert is on each class, and see what three estimators make of it."""

from types import ModuleType

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.fits import parts, shared
from app.fits.settings import LabSettings
from app.fits.tables import LabResult
from app.kit import expert_panel
from app.kit.notes import DIAGNOSIS_NOTE, MEDICAL_ICON
from app.lab import first, settings_panel, state
from app.sharing import state as sharing_state
from app.sharing import teacher
from l2d_core.datasets import LAB_DATASETS


def stage() -> ModuleType:
    """What draws the results. The library for charts takes a while to import: it can while the first fit runs."""
    from app.lab import stage as lab_stage

    return lab_stage


def name_of(settings: LabSettings) -> str:
    """The settings in words, for what is pinned."""
    dataset = LAB_DATASETS[settings.dataset]
    expert = settings.people or expert_panel.name_of_expert(settings.dataset, dataset.class_names)
    return f"{dataset.title}, expert: {expert}, {settings.num_seeds} seeds from {settings.seed}"


def fit(asked: LabSettings, place: DeltaGenerator) -> LabResult:
    """The fit, made or waited for, with its progress in a place of the page. OSError, ValueError: why there is none."""
    binning, is_dragging = state.binning(), state.is_dragging()
    return shared.fit_board().get(
        asked,
        lambda on_progress: parts.fit(shared.workers(), asked, binning, on_progress),
        lambda done: place.progress(done, f"Training {asked.num_seeds} seeds: {done:.0%}"),
        meanwhile=stage,
        is_kept=not is_dragging,
    )


state.arrive()
teacher_settings = sharing_state.teacher()
with st.container(key="lab"):
    left, right = st.columns([1, 3], gap="medium")
with left:
    st.title("Live lab", anchor=False)
    settings = settings_panel.draw(teacher_settings)
with right:
    teacher.draw(teacher_settings)
    status = st.empty()
    asked = settings_panel.while_dragging(settings) if state.is_dragging() else settings
    try:
        result = first.result(asked, state.binning()) or fit(asked, status)
    except (OSError, ValueError) as problem:
        status.error(str(problem))
    else:
        if LAB_DATASETS[settings.dataset].is_medical:
            status.caption(f"{MEDICAL_ICON} {DIAGNOSIS_NOTE}")
        else:
            status.empty()
        if teacher.is_revealed(teacher_settings, settings):
            name = name_of(settings)
            before = state.shown(state.Shown(name, result.tables, result.curves))
            is_part = asked.num_seeds < settings.num_seeds
            note = f"While you drag: {asked.num_seeds} of {settings.num_seeds} seeds." if is_part else ""
            stage().draw(result, name, before, note, lambda place: fit(asked, place))
