"""Text from visitors, made safe for pages: shown literally, never interpreted as Markdown."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # its import takes longer than Home is waited for
    import pandas as pd

WORD_JOINER = "\u2060"
# Beginnings of addresses and icons: "https:" in "https://", "www" in "www.x", "@" in "a@x", ":" in ":material/x:".
_LINKS = re.compile(r":(?=[\w/])|www(?=\.)|@", re.IGNORECASE)


def plain(text: str) -> str:
    """Markdown that shows the text literally, without links."""
    marks = " ,.-"
    return "".join(
        letter if letter.isalnum() or letter in marks else f"&#{ord(letter)};" for letter in without_links(text)
    )


def plain_table(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table for `st.table`, which reads Markdown in cells and heads: all texts of it letter by letter."""
    shown = table.map(lambda value: plain(value) if isinstance(value, str) else value)
    return shown.rename(index=lambda name: plain(str(name)), columns=lambda name: plain(str(name)))


def without_links(text: str) -> str:
    """The text with addresses and icons broken up by a zero-width mark, so that Markdown does not recognise them."""
    return _LINKS.sub(f"\\g<0>{WORD_JOINER}", text)
