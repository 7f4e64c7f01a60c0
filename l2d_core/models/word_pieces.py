"""From a text to the word pieces of an uncased BERT vocabulary."""

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
MAX_CHARACTERS = 100  # a longer word is one unknown piece
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))


@dataclass(frozen=True)
class WordPieces:
    """A vocabulary: piece -> number. A piece that goes on within a word starts with "##".

    ValueError where one of the special pieces is missing. Source: Devlin and others 2019, arXiv 1810.04805.
    """

    numbers: Mapping[str, int]

    def __post_init__(self) -> None:
        missing = [piece for piece in (PAD, UNKNOWN, START, END) if piece not in self.numbers]
        if missing:
            raise ValueError(f"the vocabulary must have {PAD}, {UNKNOWN}, {START} and {END}; it lacks {missing[0]}")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "WordPieces":
        """A text file with a piece a line, numbered from 0."""
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        return cls({piece: number for number, piece in enumerate(lines) if piece})

    def encode(self, text: str, max_pieces: int) -> list[int]:
        """The numbers of a text's pieces between START and END, at most max_pieces with these two."""
        if max_pieces < 2:
            raise ValueError(f"max_pieces must be at least 2, got {max_pieces}")
        pieces = [piece for word in split_words(text) for piece in self._split(word)]
        return [self.numbers[piece] for piece in (START, *pieces[: max_pieces - 2], END)]

    def _split(self, word: str) -> list[str]:
        """The longest piece that the word starts with, then that of the rest, and so on."""
        pieces, start = [], 0
        if len(word) > MAX_CHARACTERS:
            return [UNKNOWN]
        while start < len(word):
            mark = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self.numbers)
            end = next(ends, None)
            if end is None:
                return [UNKNOWN]
            pieces.append(mark + word[start:end])
            start = end
        return pieces


def split_words(text: str) -> list[str]:
    """Words in lower case without accents; each sign of punctuation and each ideograph is a word of its own."""
    plain = unicodedata.normalize("NFD", "".join(map(_clean, text)).lower())
    return "".join(f" {sign} " if _stands_alone(sign) else sign for sign in plain if not _is_accent(sign)).split()


def _clean(sign: str) -> str:
    """Blanks as blanks, control characters and what could not be decoded as nothing."""
    if sign in "\t\n\r" or unicodedata.category(sign) == "Zs":
        return " "
    return "" if sign == "\ufffd" or unicodedata.category(sign).startswith("C") else sign


def _is_accent(sign: str) -> bool:
    return unicodedata.category(sign) == "Mn"


def _stands_alone(sign: str) -> bool:
    code = ord(sign)
    is_ascii_sign = code < 128 and sign.isprintable() and not sign.isalnum() and sign != " "
    is_ideograph = any(low <= code <= high for low, high in _IDEOGRAPHS)
    return is_ascii_sign or is_ideograph or unicodedata.category(sign).startswith("P")
