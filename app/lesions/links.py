"""What links to the page of skin lesions carry: the settings of its results, and nothing of an upload."""

from app.sharing.carried import Carried, Settings, Titles, with_titles


def _settings() -> Settings:
    from app.kit import expert_panel
    from app.lesions import state
    from l2d_core.datasets import LAB_DATASETS

    sliders = expert_panel.settings_keys("ham10000", LAB_DATASETS["ham10000"].class_names)
    return {**with_titles(_titles()), **sliders, state.THRESHOLD: None, state.BUDGET: None, state.TAU: None}


def _titles() -> Titles:
    from app.kit import expert_panel
    from app.kit.looks import SYSTEMS
    from app.lesions import state, systems, verdicts, views
    from l2d_core.lesions.system import RUNS

    return {
        state.EXPERT: systems.EXPERTS,
        state.RULE: verdicts.RULES,
        state.ORDER: verdicts.ORDERS,
        state.VIEW: views.VIEWS,
        state.SYSTEM: {name: look.title for name, look in SYSTEMS.items() if name in RUNS},
        "wrong": expert_panel.WRONG_TITLES,
    }


LINKS = Carried(_settings, _titles, in_address=True)
