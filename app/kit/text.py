"""Text of visitors, so that it can stand on a page: shown letter by letter, and never read as Markdown."""

import re

WORD_JOINER = "\u2060"
# What begins an address or an icon: "https:" of "https://", "www" of "www.x", "@" of "a@x", ":" of ":material/x:".
_LINKS = re.compile(r":(?=[\w/])|www(?=\.)|@", re.IGNORECASE)


def plain(text: str) -> str:
    """Text as Markdown that shows it letter by letter, and makes no link of it."""
    marks = " ,.-"
    return "".join(
        letter if letter.isalnum() or letter in marks else f"&#{ord(letter)};" for letter in without_links(text)
    )


def without_links(text: str) -> str:
    """Text of which Markdown makes no link and no icon: addresses are broken up by a mark without width."""
    return _LINKS.sub(f"\\g<0>{WORD_JOINER}", text)
