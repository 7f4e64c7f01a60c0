"""What a page's links carry: its settings, and permanent names of their choices.

Each page declares it in its `links.py`; the functions there import what they need only when called, because the router
reads the declarations of all pages.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.sharing.links import Shown

Titles = Mapping[str, Mapping[str, str]]  # key of a setting -> name of a choice -> its title
Settings = Mapping[str, Shown | None]  # key of a setting -> how its value is written in an address


@dataclass(frozen=True)
class Carried:
    """settings: everything that a page's address may contain; None for a page without settings.

    titles: names of choices, where Streamlit's own address writes the titles shown. defaults: values, as a link writes
    them, that links leave out; they stay the same as long as the version of links does. in_address: the settings are
    read from the address, and not from the session. repeated: keys that may come several times. for_a_class: a teacher
    may add to its links. reads_itself: the page reads its settings from the address, names and titles alike.
    """

    settings: Callable[[], Settings | None] = lambda: None
    titles: Callable[[], Titles] = dict
    defaults: Callable[[], Mapping[str, str]] = dict
    in_address: bool = False
    repeated: tuple[str, ...] = ()
    for_a_class: bool = False
    reads_itself: bool = False


NOTHING = Carried(in_address=True)


def with_titles(titles: Titles, *others: str) -> Settings:
    """The settings with titles, written as these, and others, written as they are."""
    written: dict[str, Shown | None] = {key: choices.__getitem__ for key, choices in titles.items()}
    return written | dict.fromkeys(others)


def shorten(settings: Iterable[tuple[str, str]], titles: Titles) -> list[tuple[str, str]]:
    """Settings for an address, with names in place of titles."""
    names = {key: {title: name for name, title in choices.items()} for key, choices in titles.items()}
    return [(key, names.get(key, {}).get(text, text)) for key, text in settings]


def without_defaults(settings: Iterable[tuple[str, str]], defaults: Mapping[str, str]) -> list[tuple[str, str]]:
    """The settings that differ from their defaults."""
    return [(key, text) for key, text in settings if defaults.get(key) != text]


def lengthen(given: Mapping[str, list[str]], titles: Titles) -> dict[str, list[str]]:
    """The keys of an address that contain the name of a choice, with the title in its place, as Streamlit expects it.

    What holds titles only, as addresses from the browser's own line do, is not in it.
    """
    changed = {}
    for key in titles.keys() & given.keys():
        found = [titles[key].get(text, text) for text in given[key]]
        if found != given[key]:
            changed[key] = found
    return changed
