"""Lasting names of choices in links, where Streamlit's own address writes the titles shown."""

from collections.abc import Callable, Iterable, Mapping

Titles = Mapping[str, Mapping[str, str]]  # key of a setting -> name of a choice -> its title


def titles_of(page: str) -> Titles:
    """The choices of a page, of every data set; none where the page has no such setting."""
    known: dict[str, Callable[[], Titles]] = {"lab": _lab, "lesions": _lesions, "compare": _compare, "paper": _paper}
    return known[page]() if page in known else {}


def shorten(settings: Iterable[tuple[str, str]], titles: Titles) -> list[tuple[str, str]]:
    """Settings for an address, with names in place of titles."""
    names = {key: {title: name for name, title in choices.items()} for key, choices in titles.items()}
    return [(key, names.get(key, {}).get(text, text)) for key, text in settings]


def lengthen(given: Mapping[str, list[str]], titles: Titles) -> dict[str, list[str]]:
    """Of an address, the keys that hold a name of a choice, with the title in its place, as Streamlit reads it.

    What holds titles only, as addresses from the browser's own line do, is not in it.
    """
    changed = {}
    for key in titles.keys() & given.keys():
        found = [titles[key].get(text, text) for text in given[key]]
        if found != given[key]:
            changed[key] = found
    return changed


def _lab() -> Titles:
    from components import expert_panel, people_panel, settings_panel
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


def _lesions() -> Titles:
    import lesion_rows
    from components import expert_panel, lesion_expert

    return {
        "lesion_expert": lesion_expert.EXPERTS,
        "lesion_rule": lesion_rows.RULES,
        "wrong": expert_panel.WRONG_TITLES,
    }


def _compare() -> Titles:
    from components.compare_controls import ESTIMATES, STRATEGIES
    from l2d_core.recalibration import RECALIBRATIONS

    return {"compare_bin_kind": STRATEGIES, "recalibration": RECALIBRATIONS, "estimate": ESTIMATES}


def _paper() -> Titles:
    import paper_results
    from components.paper_curves import MEASURES
    from components.paper_looks import METHODS

    return {
        "result": paper_results.TITLES,
        "scale": {name: scale.title for name, scale in paper_results.SCALES.items()},
        "paper_accuracy": MEASURES,
        "paper_methods": {name: look.title for name, look in METHODS.items()},
    }
