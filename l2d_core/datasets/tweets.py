"""The text of a tweet: cleaned, and split into words."""

import html
import re

USER, LINK = "@user", "http"
_LINK, _USER = re.compile(r"https?://\S*"), re.compile(r"@\w+")
_WORD = re.compile(rf"{USER}|#?\w+(?:['’]\w+)*|[^\w\s]")


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
