"""What the links of the lesson carry."""

from app.sharing.carried import Carried, Settings


def _settings() -> Settings:
    from app.learn import frame

    return {"step": None} | {frame.key_of(name): None for name in frame.SETTINGS}


LINKS = Carried(_settings)
