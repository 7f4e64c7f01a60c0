"""What the live lab's links carry."""

import streamlit as st

from app.sharing.carried import Carried, Settings, Titles


def _settings() -> Settings:
    from app.lab import settings_panel

    return settings_panel.settings_keys(st.session_state.get("data"))


def _titles() -> Titles:
    from app.kit import expert_panel
    from app.lab import people_panel, settings_panel
    from l2d_core.datasets import LAB_DATASETS

    found = {
        "data": {name: dataset.title for name, dataset in LAB_DATASETS.items()},
        "wrong": expert_panel.WRONG_TITLES,
        "bin_kind": settings_panel.STRATEGIES,
    }
    for name, dataset in LAB_DATASETS.items():
        found[f"{name}_head"] = settings_panel.HEAD_TITLES
        if dataset.people is not None:
            found |= {f"{name}_expert": people_panel.KINDS, f"{name}_people": dataset.people.names}
    return found


LINKS = Carried(_settings, _titles, for_a_class=True)
