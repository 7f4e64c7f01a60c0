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
        "view": state.VIEWS,
    }
    for name, dataset in LAB_DATASETS.items():
        found[f"{name}_head"] = state.HEAD_TITLES
        if dataset.people is not None:
            found |= {f"{name}_expert": people_panel.KINDS, f"{name}_people": dataset.people.names}
    return found


def _defaults() -> dict[str, str]:
    from app.lab import state

    return {key: setting.write(setting.default) for key, setting in state.settings(state.dataset()).items()}


LINKS = Carried(_settings, _titles, _defaults, for_a_class=True, reads_itself=True)
