"""What the links of the page The paper carry."""

from app.sharing.carried import Carried, Settings, Titles, with_titles


def _settings() -> Settings:
    return with_titles(_titles())


def _titles() -> Titles:
    from app.paper import results
    from app.paper.curves import MEASURES
    from app.paper.words import METHODS

    return {
        "result": results.TITLES,
        "scale": {name: scale.title for name, scale in results.SCALES.items()},
        "paper_accuracy": MEASURES,
        "paper_methods": {name: look.title for name, look in METHODS.items()},
    }


LINKS = Carried(_settings, _titles, in_address=True)
