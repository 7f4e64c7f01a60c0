"""Damage inside a JPEG: Pillow fills what cannot be decoded with grey, and says nothing; libjpeg's warnings tell."""

import re

import simplejpeg

from l2d_core.images.kinds import Unreadable

_SMALLEST = {"min_height": 1, "min_width": 1, "min_factor": 8}  # decoding at an eighth reads all of the data
_FOUR_CHANNELS = ("CMYK", "YCCK")
_ZEROS = 64  # bytes in a row
_SCAN, _END, _TABLES = b"\xff\xda", b"\xff\xd9", re.compile(rb"\xff\xc4..", re.DOTALL)


def require_undamaged(data: bytes) -> None:
    """Raise Unreadable where libjpeg warns that the data of a JPEG are damaged, such as cut short or overwritten.

    A variant that this reader does not know is left to Pillow. Call it only for an allowed size.
    """
    if _has_zeroed_part(data):
        raise Unreadable("a part of its data is overwritten with zeros; copy or download it again, or export it anew")
    try:
        colours = simplejpeg.decode_jpeg_header(data, strict=False)[2]
        options = {"colorspace": "CMYK" if colours in _FOUR_CHANNELS else "RGB", **_SMALLEST}
        simplejpeg.decode_jpeg(data, strict=False, **options)
    except ValueError:
        return
    try:
        simplejpeg.decode_jpeg(data, strict=True, **options)
    except ValueError as problem:
        reason = " ".join(str(problem).split())
        raise Unreadable(
            f"its data are damaged ({reason[:80]}); copy or download it again, or export it anew"
        ) from None


def _has_zeroed_part(data: bytes) -> bool:
    """Whether the only scan has a run of zeros that no picture gives: decoders stay in step, and warn of nothing.

    Zero bits stand for the first symbol of each Huffman table, over and over. That is a flat area where it means "no
    change" and "end of block", which are 0, in all tables; otherwise it is a block in which all frequencies are -1.
    """
    start = data.find(_SCAN)
    end = data.find(_END, start)  # what follows, such as padding, is no part of the picture
    if start < 0 or data.find(_SCAN, start + 2) >= 0 or bytes(_ZEROS) not in data[start : end if end >= 0 else None]:
        return False
    return any(_first_symbols(data[:start]))


def _first_symbols(head: bytes) -> list[int]:
    """The first symbol of each Huffman table before the scan: a segment has, for each, a number, 16 counts, symbols."""
    symbols = []
    for found in _TABLES.finditer(head):
        at, end = found.end(), found.start() + 2 + int.from_bytes(head[found.end() - 2 : found.end()], "big")
        while at + 17 < min(end, len(head)):
            symbols.append(head[at + 17])
            at += 17 + sum(head[at + 1 : at + 17])
    return symbols
