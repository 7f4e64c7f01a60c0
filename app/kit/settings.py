"""Settings of a page: the values that each may have, its default, and how it is written in an address."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st


@dataclass(frozen=True)
class Setting:
    """read: the value of a text in an address; it raises ValueError or KeyError on a text that no value has."""

    default: Any
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def choice(titles: Mapping[Any, str], default: Any = None) -> Setting:
    """One of several names. An address has the name; older ones have the title."""
    names = {text: name for name, title in titles.items() for text in (title, str(name))}
    return Setting(next(iter(titles)) if default is None else default, names.__getitem__)


def whole(low: int, high: int, default: int) -> Setting:
    """A whole number from low to high."""
    return Setting(default, lambda text: int(_in_range(text, low, high, int)))


def number(low: float, high: float, default: float) -> Setting:
    """A number from low to high."""
    return Setting(default, lambda text: float(_in_range(text, low, high, float)), lambda value: f"{value:g}")


def flag(default: bool = False) -> Setting:
    """On or off."""
    return Setting(default, {"true": True, "false": False, "True": True, "False": False}.__getitem__, _lower)


def begin(settings: Mapping[str, Setting]) -> None:
    """Give each setting that the session does not have yet the value in the address, or else its default."""
    for key, setting in settings.items():
        if key not in st.session_state:
            value = read(settings, {key: st.query_params[key]} if key in st.query_params else {})
            st.session_state[key] = value.get(key, setting.default)


def read(settings: Mapping[str, Setting], given: Mapping[str, str]) -> dict[str, Any]:
    """The values of those settings that an address names, without those that cannot be used."""
    found = {}
    for key in settings.keys() & given.keys():
        try:
            found[key] = settings[key].read(given[key])
        except (KeyError, ValueError):
            continue
    return found


def write(settings: Mapping[str, Setting], values: Mapping[str, Any]) -> dict[str, str]:
    """The values that are not the defaults, as text for an address."""
    return {key: one.write(values[key]) for key, one in settings.items() if values[key] != one.default}


def _in_range(text: str, low: float, high: float, kind: type) -> float:
    value = kind(text)
    if not low <= value <= high:
        raise ValueError(f"{text} is not in {low}..{high}")
    return value


def _lower(value: bool) -> str:
    return str(value).lower()
