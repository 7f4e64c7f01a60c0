"""Text from visitors, made safe for pages: shown literally, never interpreted as Markdown."""

import re

WORD_JOINER = "\u2060"
# Beginnings of addresses and icons: "https:" in "https://", "www" in "www.x", "@" in "a@x", ":" in ":material/x:".
_LINKS = re.compile(r":(?=[\w/])|www(?=\.)|@", re.IGNORECASE)


def plain(text: str) -> str:
    """Markdown that shows the text literally, without links."""
    marks = " ,.-"
    return "".join(
        letter if letter.isalnum() or letter in marks else f"&#{ord(letter)};" for letter in without_links(text)
    )


def without_links(text: str) -> str:
    """The text with addresses and icons broken up by a zero-width mark, so that Markdown does not recognise them."""
    return _LINKS.sub(f"\\g<0>{WORD_JOINER}", text)
