"""Links to what a page shows: every setting as text in the address, and notes on what in a link cannot be used.

Streamlit itself restores a setting whose widget is bound to the address, and drops what does not fit.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from app.kit.text import without_links

VERSION = "1"
VERSION_KEY = "v"
MAX_NOTED = 5
MAX_SHOWN = 40  # characters of a value from an address that a note repeats

Shown = Callable[[Any], str]  # writes a setting's value in an address


def write(value: Any, shown: Shown | None = None) -> str:
    """A setting's value as Streamlit writes it into an address."""
    if isinstance(value, list):
        return ", ".join(write(one, shown) for one in value)
    if shown is not None:
        return shown(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def settings_of(state: Mapping[str, Any], keys: Mapping[str, Shown | None]) -> dict[str, str]:
    """The settings with these keys that the session has, in the keys' order, as text for an address."""
    return {key: write(state[key], shown) for key, shown in keys.items() if state.get(key) is not None}


def address(page_url: str, settings: Iterable[tuple[str, str]]) -> str:
    """The address of a page with the version and these settings, whose keys may repeat.

    What stood behind the page's own path is dropped.
    """
    parts = urlsplit(page_url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{urlencode([(VERSION_KEY, VERSION), *settings])}"


def unusable(given: Mapping[str, str]) -> list[str]:
    """The keys of values that no setting can have: empty text and numbers such as nan and 1e999."""
    return [key for key, text in given.items() if not text or not _is_finite(text)]


def notes(
    given: Mapping[str, str], state: Mapping[str, Any], keys: Mapping[str, Shown | None], reserved: frozenset[str]
) -> list[str]:
    """Notes on what in an address cannot be used: another version, unknown settings, values that do not fit.

    given: what the address held; state: the session after the page was drawn; keys: the page's settings; reserved: what
    is no setting, and read elsewhere.
    """
    found = []
    version = given.get(VERSION_KEY, VERSION)
    if version != VERSION:
        found.append(
            f"The link was made by version {short(version)} of this page, which is now at version {VERSION}: check "
            "that all settings are as you expect."
        )
    rest = {key: text for key, text in given.items() if key != VERSION_KEY and key not in reserved}
    unknown = [key for key in rest if key not in keys]
    if unknown:
        more = f" and {len(unknown) - MAX_NOTED} more" if len(unknown) > MAX_NOTED else ""
        found.append(
            "The link contains settings that this page does not know: "
            f"{', '.join(map(short, unknown[:MAX_NOTED]))}{more}."
        )
    bad = [key for key in rest if key in keys and not _fits(rest[key], state.get(key), keys[key])]
    found += [
        f"The link's {key} = {short(rest[key])} cannot be used; it is {short(write(state[key], keys[key]))} here."
        for key in bad[:MAX_NOTED]
    ]
    return found


def _fits(text: str, value: Any, shown: Shown | None) -> bool:
    """Whether the value, or one of several, is the one that the text in an address means."""
    if isinstance(value, list):
        return any(_fits(text, one, shown) for one in value)
    if value is None or text in (write(value, shown), str(value)):
        return True
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        try:
            return float(text) == value
        except ValueError:
            return False
    return False


def _is_finite(text: str) -> bool:
    """Whether the text is no number or a finite one."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return True


def short(text: str) -> str:
    """A text from an address, shortened and made safe for a sentence in Markdown."""
    plain = "".join(mark if mark.isalnum() or mark in " .,-_+:;/" else "?" for mark in text)
    return without_links(plain if len(plain) <= MAX_SHOWN else f"{plain[:MAX_SHOWN]}...") or "(empty)"
