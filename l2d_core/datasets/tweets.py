"""The text of a tweet: cleaned, split into words, and masked where it may offend."""

import html
import re

USER, LINK = "@user", "http"
MASK = "•"
_LINK, _USER = re.compile(r"https?://\S*"), re.compile(r"@\w+")
_WORD = re.compile(rf"{USER}|#?\w+(?:['’]\w+)*|[^\w\s]")
# Words that stay readable, so that a masked sentence keeps its shape.
_PLAIN = frozenset(
    "a about after all am an and any are as at be been but by can did do does for from get got had has have he her "
    "him his how i if in into is it its just like me my no not of on or our out rt said say she so some than that the "
    "their them then there these they this to too up us was we were what when where which who why will with would you "
    f"your {USER} {LINK}".split()
)


def clean(text: str) -> str:
    """The text without HTML entities; user names as @user, addresses as http, runs of blanks as one."""
    return " ".join(_USER.sub(USER, _LINK.sub(LINK, html.unescape(text))).split())


def split_words(text: str) -> list[str]:
    """The words and punctuation of a tweet, cleaned and in lower case."""
    return _WORD.findall(clean(text).lower())


def same_text(text: str) -> str:
    """A key that is equal for repeated tweets: the words, without user names, addresses and RT."""
    words = [word for word in split_words(text) if word not in (USER, LINK, "rt") and word[-1].isalnum()]
    return " ".join(words)


def masked(text: str, *, show: bool = False) -> str:
    """The cleaned tweet with all but the first letter of each word masked, except for the commonest words.

    Not a list of offensive words, which would have gaps. show: return the cleaned text unmasked.
    """
    cleaned = clean(text)
    return cleaned if show else _WORD.sub(_mask, cleaned)


def _mask(found: re.Match[str]) -> str:
    word = found.group()
    shown = 2 if word[0] == "#" else 1
    return word if word.lower() in _PLAIN else word[:shown] + MASK * (len(word) - shown)
