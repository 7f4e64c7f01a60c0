"""What the links of the lesson carry."""

from app.learn import state
from app.sharing import links
from app.sharing.carried import Carried, Settings, Titles, with_titles


def _settings() -> Settings:
    return with_titles(_titles(), *map(state.key_of, state.SETTINGS))


def _titles() -> Titles:
    return {state.STEP: state.STEPS}


def _defaults() -> dict[str, str]:
    return {state.key_of(name): links.write(start) for name, start in state.SETTINGS.items()}


LINKS = Carried(_settings, _titles, _defaults)
