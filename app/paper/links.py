"""What links to the page The paper carry."""

from app.sharing.carried import Carried, Settings, Titles, with_titles


def _settings() -> Settings:
    return with_titles(_titles())


def _titles() -> Titles:
    from app.paper import results, state
    from app.paper.curves import MEASURES
    from app.paper.words import METHODS

    return {
        state.RESULT: results.TITLES,
        state.SCALE: {name: scale.title for name, scale in results.SCALES.items()},
        state.ACCURACY: MEASURES,
        state.METHODS: {name: look.title for name, look in METHODS.items()},
    }


def _defaults() -> dict[str, str]:
    from app.paper import state

    return {state.SCALE: "quick", state.ACCURACY: "machine_accuracy"}


LINKS = Carried(_settings, _titles, _defaults, in_address=True)
