"""What the live lab's links carry."""

from app.sharing.carried import Carried, Settings, Titles


def _settings() -> Settings:
    from app.lab import state

    return state.settings_keys()


def _titles() -> Titles:
    from app.kit import expert_panel
    from app.lab import people_panel, state
    from l2d_core.datasets import LAB_DATASETS

    found = {
        "data": {name: dataset.title for name, dataset in LAB_DATASETS.items()},
        "wrong": expert_panel.WRONG_TITLES,
        "bin_kind": state.STRATEGIES,
    }
    for name, dataset in LAB_DATASETS.items():
        found[f"{name}_head"] = state.HEAD_TITLES
        if dataset.people is not None:
            found |= {f"{name}_expert": people_panel.KINDS, f"{name}_people": dataset.people.names}
    return found


LINKS = Carried(_settings, _titles, for_a_class=True)
