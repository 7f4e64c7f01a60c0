"""The first directory of a TIFF file or of EXIF data, read so that no tag can claim more bytes than the file has."""

import struct
from dataclasses import dataclass
from math import ceil

from l2d_core.images.kinds import Unreadable

# Bytes per value of each type, and the struct letters of the unsigned integer types.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_LETTERS = {1: "B", 3: "H", 4: "I"}

_SUBFILE, _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 254, 256, 257, 258, 259, 262
_STRIPS, _ORIENTATION, _SAMPLES, _ROWS_PER_STRIP, _STRIP_BYTES, _PLANAR = 273, 274, 277, 278, 279, 284
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES, _SAMPLE_FORMAT, _DNG = 322, 323, 324, 325, 339, 50706

# None, LZW, deflate, PackBits, older deflate. JPEG inside TIFF is left out: libtiff reports its faults on stderr.
_COMPRESSIONS = {1, 5, 8, 32773, 32946}
_MAX_TILE_PIXELS = 1 << 24
_MAX_SAMPLES = 6  # four inks and two extra channels

_CUT_SHORT = "the file is cut short; copy or download it again"
_DAMAGED = "the TIFF's structure is damaged; export it anew"


@dataclass(frozen=True)
class Directory:
    """The integers in a directory: tag -> values."""

    numbers: dict[int, tuple[int, ...]]

    def first(self, tag: int, default: int) -> int:
        """The first value of a tag, or the default."""
        return self.numbers.get(tag, (default,))[0]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, as stored; 0 where missing."""
        return self.first(_WIDTH, 0), self.first(_HEIGHT, 0)

    @property
    def bits(self) -> int:
        """Bits per channel."""
        return self.first(_BITS, 1)

    @property
    def zero_is_white(self) -> bool:
        """Whether small values are bright."""
        return self.first(_PHOTOMETRIC, 0) == 0

    @property
    def orientation(self) -> int:
        """The orientation: 1 to 8 as in EXIF, 1 where it is missing or invalid."""
        value = self.first(_ORIENTATION, 1)
        return value if 1 <= value <= 8 else 1

    def check_is_plain_image(self) -> None:
        """Refuse camera raw files, previews, and unsupported encodings."""
        if _DNG in self.numbers or self.first(_SUBFILE, 0) & 1:
            raise Unreadable("camera raw or a preview, not a finished image; export it as JPEG, PNG or TIFF")
        if self.first(_COMPRESSION, 1) not in _COMPRESSIONS:
            raise Unreadable("a TIFF compression that is not read here; save it with LZW or without compression")
        if not 1 <= self.first(_SAMPLES, 1) <= _MAX_SAMPLES:
            raise Unreadable(f"{self.first(_SAMPLES, 1)} channels, allowed are {_MAX_SAMPLES}; export it as RGB")
        if self.bits == 8 and self.first(_SAMPLE_FORMAT, 1) == 2:
            raise Unreadable("its 8-bit values have a sign, which no viewer shows alike; save it unsigned")

    def check_parts(self, data: bytes) -> None:
        """Refuse unless the strips or tiles are as many as the image needs and all within the file."""
        tiled = _TILES in self.numbers and _STRIPS not in self.numbers
        offsets = self.numbers.get(_TILES if tiled else _STRIPS, ())
        lengths = self.numbers.get(_TILE_BYTES if tiled else _STRIP_BYTES, ())
        if len(offsets) != self._parts_needed(tiled) or (lengths and len(lengths) != len(offsets)):
            raise Unreadable(_DAMAGED)
        if any(start + length > len(data) for start, length in zip(offsets, lengths, strict=False)):
            raise Unreadable(_CUT_SHORT)

    def _parts_needed(self, tiled: bool) -> int:
        """How many strips or tiles cover the image; one set per channel where channels are stored separately."""
        width, height = self.size
        planes = self.first(_SAMPLES, 1) if self.first(_PLANAR, 1) == 2 else 1
        if tiled:
            across, down = self.first(_TILE_WIDTH, 0), self.first(_TILE_HEIGHT, 0)
            if across < 1 or down < 1 or across * down > _MAX_TILE_PIXELS:
                raise Unreadable(_DAMAGED)
            return planes * ceil(width / across) * ceil(height / down)
        rows = self.first(_ROWS_PER_STRIP, height)
        if rows < 1:
            raise Unreadable(_DAMAGED)
        return planes * ceil(height / rows)


def read_directory(data: bytes) -> Directory:
    """The first directory of TIFF bytes. Unreadable where values are outside the file or claim too many bytes."""
    order, entries = _entries(data)
    # Values do not share bytes, so that together they cannot be longer than the file.
    if sum(_SIZES.get(kind, 0) * number for _, kind, number, _ in entries) > len(data) + 4 * len(entries):
        raise Unreadable(_DAMAGED)
    numbers = {}
    for tag, kind, number, inline in entries:
        if kind in _LETTERS and number:
            numbers.setdefault(tag, _unpack(data, order, kind, number, inline))
    return Directory(numbers)


def exif_orientation(exif: bytes) -> int:
    """The orientation in EXIF data: 1 to 8, 1 where it is missing or invalid."""
    data = exif.removeprefix(b"Exif\0\0")
    try:
        order, entries = _entries(data)
    except Unreadable:
        return 1
    turns = [
        _unpack(data, order, 3, 1, inline) for tag, kind, _, inline in entries if tag == _ORIENTATION and kind == 3
    ]
    return Directory({_ORIENTATION: turns[0]} if turns else {}).orientation


def _entries(data: bytes) -> tuple[str, list[tuple[int, int, int, bytes]]]:
    """The byte order, and (tag, type, number of values, value or its offset) of the first directory."""
    order = "<" if data.startswith(b"II") else ">"
    try:
        (start,) = struct.unpack_from(order + "I", data, 4)
        (count,) = struct.unpack_from(order + "H", data, start)
        return order, [struct.unpack_from(order + "HHI4s", data, start + 2 + 12 * row) for row in range(count)]
    except struct.error:
        raise Unreadable(_CUT_SHORT) from None


def _unpack(data: bytes, order: str, kind: int, number: int, inline: bytes) -> tuple[int, ...]:
    """The values of one tag, stored in its entry if they fit into 4 bytes, else at the offset given there."""
    layout = f"{order}{number}{_LETTERS[kind]}"
    try:
        if struct.calcsize(layout) <= 4:
            return struct.unpack_from(layout, inline)
        return struct.unpack_from(layout, data, struct.unpack(order + "I", inline)[0])
    except struct.error:
        raise Unreadable(_CUT_SHORT) from None
