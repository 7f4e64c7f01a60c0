"""Names from outside, of which every letter can be seen, and which a terminal shows and does not obey."""

import unicodedata

MAX_MARKS = 4  # on one letter; more are stacked over the lines above and below
_BLANK = str.maketrans(dict.fromkeys("\u115f\u1160\u2800\u3164\uffa0", " "))  # letters without a shape


def seen_letters(name: str) -> str:
    """The name, composed (NFC), without what cannot be seen or covers other text.

    Blank letters become spaces; format characters (which are invisible, or turn the direction of writing), marks on no
    letter and marks beyond MAX_MARKS on one letter are left out.
    """
    kept, marks = [], 0
    for letter in unicodedata.normalize("NFC", name).translate(_BLANK):
        category = unicodedata.category(letter)
        marks = marks + 1 if category[0] == "M" else 0
        if category != "Cf" and marks <= MAX_MARKS and not (marks and (not kept or kept[-1].isspace())):
            kept.append(letter)
    return "".join(kept)


def printable(text: str) -> str:
    """The text with control characters other than line ends and tabs escaped, so that a terminal shows them."""
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) != "Cc" else f"\\x{ord(letter):02x}"
        for letter in text
    )
