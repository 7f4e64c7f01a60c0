"""What the links of the lesson carry."""

from app.learn import state
from app.sharing.carried import Carried, Settings


def _settings() -> Settings:
    return {state.STEP: None} | {state.key_of(name): None for name in state.SETTINGS}


LINKS = Carried(_settings)
