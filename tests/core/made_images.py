"""Image files made for the tests: a coloured picture in any format, and PNG and TIFF put together by hand."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from l2d_core.images.opening import ImageProblem, open_image


def picture(height=48, width=64):
    """Smooth colours without blank parts, (height, width, 3); no two corners are alike."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = 40 + 200 * y / height, 30 + 180 * x / width
    blue = 128 + 60 * np.sin(y / 7) * np.cos(x / 9)
    return np.stack([red, green, blue], axis=2).astype(np.uint8)


def encode(image, kind="PNG", **options):
    """The bytes of an image, or of an array, in a format of Pillow's."""
    image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def turned(orientation):
    """EXIF data that say how the picture is turned."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width, height, rows, *, bits=8, colour=2, interlaced=0, extra=b""):
    """A PNG with these bytes as its rows, each of which begins with its filter."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced))
    pixels = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + header + extra + pixels + chunk(b"IEND", b"")


def tiff(tags, pixels=b""):
    """A little-endian TIFF: (tag, type, values) with whole numbers; 273 (where the pixels lie) is put in by itself.

    The type is 3 (16 bits) or 4 (32 bits). Pixels begin at byte 8, so that tags may name other places.
    """
    tags = sorted(tags if any(tag == 273 for tag, *_ in tags) else [*tags, (273, 4, [8])])
    start = 8 + len(pixels)
    far = start + 2 + 12 * len(tags) + 4
    entries, values = b"", b""
    for tag, kind, numbers in tags:
        packed = struct.pack(f"<{len(numbers)}{'H' if kind == 3 else 'I'}", *numbers)
        inline = packed.ljust(4, b"\0")
        if len(packed) > 4:
            inline = struct.pack("<I", far + len(values))
            values += packed
        entries += struct.pack("<HHI", tag, kind, len(numbers)) + inline
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", start) + pixels + directory + values


def grey_tiff(values, *, bits, sample_format=1, zero_is_white=False, **more):
    """An uncompressed grey TIFF of an array (H, W)."""
    height, width = values.shape
    tags = {
        256: [width],
        257: [height],
        258: [bits],
        259: [1],
        262: [int(not zero_is_white)],
        277: [1],
        278: [height],
        279: [values.nbytes],
        339: [sample_format],
        **{int(tag.removeprefix("tag_")): numbers for tag, numbers in more.items()},
    }
    return tiff([(tag, 4, numbers) for tag, numbers in tags.items()], values.tobytes())


def reason(data, name="a.jpg"):
    """Why a file is refused: one line behind its name."""
    with pytest.raises(ImageProblem) as caught:
        open_image(data, name)
    assert str(caught.value) == f"{caught.value.name}: {caught.value.reason}"
    assert "\n" not in str(caught.value)
    return caught.value.reason
