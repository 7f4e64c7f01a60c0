"""What the links of the page of skin lesions carry: how its results are looked at, and nothing of an upload."""

from app.sharing.carried import Carried, Settings, Titles, with_titles


def _settings() -> Settings:
    from app.kit import expert_panel
    from l2d_core.datasets import LAB_DATASETS

    sliders = expert_panel.settings_keys("ham10000", LAB_DATASETS["ham10000"].class_names)
    return {**with_titles(_titles()), **sliders, "lesion_threshold": None, "lesion_budget": None}


def _titles() -> Titles:
    from app.kit import expert_panel
    from app.lesions import expert, rows

    return {
        "lesion_expert": expert.EXPERTS,
        "lesion_rule": rows.RULES,
        "wrong": expert_panel.WRONG_TITLES,
    }


LINKS = Carried(_settings, _titles, in_address=True)
