"""The header of an image file, read before any decoder sees the file, and a check whether the file is complete."""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from l2d_core.images.kinds import Unreadable
from l2d_core.images.tiff import read_directory

# A progressive JPEG has about ten scans. Each costs a pass over all pixels but may take only a few bytes.
MAX_SCANS = 64

CUT_SHORT = "the file is cut short; copy or download it again"
DAMAGED = "the file is damaged; copy or download it again, or export it anew"

_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # neither a stuffed byte in a scan, nor a restart, nor padding
_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
# Channels by colour type; left, top, step across and down of the seven passes of an interlaced PNG.
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_STEP = 1 << 18  # bytes inflated at once
_WITHOUT_LENGTH = {0x01, 0xD8}


@dataclass(frozen=True)
class Header:
    """Size as stored, bits per channel, and for TIFF whether 0 is white and the orientation (1 to 8, as in EXIF)."""

    width: int
    height: int
    bits: int = 8
    zero_is_white: bool = False
    orientation: int = 1


def read_header(data: bytes, kind: str) -> Header:
    """The header of an image, of a kind from `kinds.recognise`; nothing is decoded.

    Unreadable where the structure shows that the file is cut short or damaged.
    """
    try:
        return _READERS[kind](data)
    except (struct.error, IndexError):
        raise Unreadable(CUT_SHORT) from None


def _read_jpeg(data: bytes) -> Header:
    """Walk the segments of a JPEG to the end of its first image."""
    header, scans, position = None, 0, 2
    while True:
        # Padding and stray bytes between segments are skipped, as decoders do.
        found = _MARKER.search(data, position)
        if found is None:
            raise Unreadable(CUT_SHORT)
        marker, position = data[found.end() - 1], found.end()
        if marker == _END_OF_IMAGE:
            break
        if marker in _WITHOUT_LENGTH:
            continue
        if marker in _FRAMES and header is None:
            bits, height, width = struct.unpack_from(">BHH", data, position + 2)
            header = Header(width, height, bits)
        scans += marker == _SCAN
        position += struct.unpack_from(">H", data, position)[0]
    if header is None or scans == 0:
        raise Unreadable(DAMAGED)
    if scans > MAX_SCANS:
        raise Unreadable(f"its pixels come in {scans:,} scans, allowed are {MAX_SCANS}; export it anew")
    return header


def _read_png(data: bytes) -> Header:
    """Check the checksum of every chunk of a PNG; `check_png_pixels` checks that the pixels are complete."""
    if data[12:16] != b"IHDR":
        raise Unreadable(DAMAGED)
    width, height, bits = struct.unpack_from(">IIB", data, 16)
    for _ in _png_chunks(data):
        pass
    return Header(width, height, bits)


def check_png_pixels(data: bytes) -> None:
    """Refuse a PNG whose compressed pixels end early, where Pillow would fill in black.

    Call it only for an allowed size, since it inflates the pixels.
    """
    width, height, bits, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    if colour not in _PNG_CHANNELS:
        raise Unreadable(DAMAGED)
    passes = _ADAM7 if interlaced else ((0, 0, 1, 1),)
    missing = 0
    for left, top, across, down in passes:
        columns, rows = ceil((width - left) / across), ceil((height - top) / down)
        missing += rows * (1 + (columns * bits * _PNG_CHANNELS[colour] + 7) // 8) if columns > 0 else 0
    stream = zlib.decompressobj()
    try:
        for name, content in _png_chunks(data):
            rest = content if name == b"IDAT" else b""
            while rest and missing > 0:
                missing -= len(stream.decompress(rest, _STEP))
                rest = stream.unconsumed_tail
    except zlib.error:
        raise Unreadable(DAMAGED) from None
    if missing > 0:
        raise Unreadable(CUT_SHORT)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Name and content of each chunk of a PNG with a correct checksum, including the last."""
    position, name, view = 8, b"", memoryview(data)
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, position)
        end = position + 8 + length
        (expected,) = struct.unpack_from(">I", data, end)
        if zlib.crc32(view[position + 4 : end]) != expected:
            raise Unreadable(DAMAGED)
        yield name, view[position + 8 : end]
        position = end + 4


def _read_webp(data: bytes) -> Header:
    """The canvas of a WebP, in its three layouts."""
    if 8 + struct.unpack_from("<I", data, 4)[0] > len(data):
        raise Unreadable(CUT_SHORT)
    layout = data[12:16]
    if layout == b"VP8X":
        low_w, high_w, low_h, high_h = struct.unpack_from("<HBHB", data, 24)
        return Header(1 + low_w + (high_w << 16), 1 + low_h + (high_h << 16))
    if layout == b"VP8L":
        (sizes,) = struct.unpack_from("<I", data, 21)
        return Header(1 + (sizes & 0x3FFF), 1 + (sizes >> 14 & 0x3FFF))
    if layout == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return Header(width & 0x3FFF, height & 0x3FFF)
    raise Unreadable(DAMAGED)


def _read_bmp(data: bytes) -> Header:
    """A BMP with all of its rows, which are not compressed."""
    start, header_size = struct.unpack_from("<II", data, 10)
    if header_size in (12, 16):
        width, height, _, depth = struct.unpack_from("<HHHH", data, 18)
        compression = 0
    else:
        width, height, _, depth, compression = struct.unpack_from("<iiHHI", data, 18)
    if compression not in (0, 3):  # plain, or plain with colour masks
        raise Unreadable("a compressed BMP, which is not read here; save it as PNG")
    height = abs(height)
    if width > 0 and start + (width * depth + 31) // 32 * 4 * height > len(data):
        raise Unreadable(CUT_SHORT)
    return Header(width, height)


def _read_tiff(data: bytes) -> Header:
    """The first directory of a TIFF: one whole image with all of its strips or tiles, each once."""
    directory = read_directory(data)
    directory.check_is_plain_image()
    directory.check_parts(data)
    width, height = directory.size
    return Header(width, height, directory.bits, directory.zero_is_white, directory.orientation)


_READERS = {"JPEG": _read_jpeg, "PNG": _read_png, "WEBP": _read_webp, "BMP": _read_bmp, "TIFF": _read_tiff}
