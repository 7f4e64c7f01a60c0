"""What a file claims about its size and structure is checked before any decoder sees it."""

import struct
import tracemalloc

import numpy as np
import pytest
from made_images import encode, grey_tiff, picture, png, reason, tiff

from l2d_core.images import opening
from l2d_core.images.opening import open_image

SMALL = picture(24, 40)
JPEG = encode(SMALL, "JPEG")


def huge(kind, width, height):
    """The beginning of a file that claims a size."""
    low = struct.pack("<ii", width - 1, height - 1)
    return {
        "PNG": png(width, height, b"\0" * 100),
        "BMP": b"BM" + struct.pack("<IIIIiiHHI", 60, 0, 54, 40, width, height, 1, 24, 0) + bytes(60),
        "WEBP": b"RIFF"
        + struct.pack("<I", 60)
        + b"WEBPVP8X"
        + struct.pack("<II", 10, 0)
        + low[:3]
        + low[4:7]
        + bytes(60),
        "JPEG": b"\xff\xd8\xff\xc0"
        + struct.pack(">HBHHB", 11, 8, height, width, 1)
        + b"\1\x11\0\xff\xda\0\2\0\xff\xd9",
        "TIFF": tiff([(256, 4, [width]), (257, 4, [height]), (258, 3, [8]), (262, 3, [1]), (277, 3, [1])]),
    }[kind]


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG", "TIFF"])
def test_an_absurd_size_is_refused_before_any_memory_is_taken_for_it(kind):
    data = huge(kind, 50_000, 50_000)
    tracemalloc.start()
    found = reason(data)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert found == "50,000 x 50,000 pixels, allowed are 25 million pixels and 20,000 on a side; send a smaller copy"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
@pytest.mark.parametrize("size", [(20_001, 1), (1, 20_001), (5001, 5000)])
def test_the_limits_of_a_size_are_what_the_message_says(kind, size):
    assert "allowed are" in reason(huge(kind, *size))


@pytest.mark.parametrize("size", [(0, 5), (5, 0)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "TIFF"])
def test_an_image_without_pixels_is_refused(kind, size):
    reason(huge(kind, *size))


def test_a_long_thin_bmp_claims_no_more_than_it_holds():
    assert "cut short" in reason(huge("BMP", 5000, 5000))
    assert "compressed BMP" in reason(b"BM" + struct.pack("<IIIIiiHHI", 60, 0, 54, 40, 9, 9, 1, 8, 1) + bytes(60))


def test_a_file_over_the_limit_is_refused_unread(monkeypatch):
    monkeypatch.setattr(opening, "MAX_FILE_BYTES", 2**20)
    padded = JPEG.ljust(2**20, b"\0")
    assert open_image(padded, "a").format == "JPEG"
    assert reason(padded + b"\0") == "1.0 MB, allowed are 1 MB; send a smaller copy"


def test_a_png_whose_rows_end_early_is_refused_and_not_filled_up():
    rows = b"".join(b"\0" + SMALL[row].tobytes() for row in range(24))
    np.testing.assert_array_equal(open_image(png(40, 24, rows), "a").pixels, SMALL)
    for missing in (1, 121, len(rows) // 2, len(rows)):
        assert "cut short" in reason(png(40, 24, rows[:-missing]))
    # Seven passes, counted by hand: 3 rows of 6 bytes, 3 of 6, 3 of 11, 6 of 11, 6 of 21, 12 of 21 and 12 of 41.
    passes = bytes(3 * 6 + 3 * 6 + 3 * 11 + 6 * 11 + 6 * 21 + 12 * 21 + 12 * 41)
    assert open_image(png(40, 24, passes, colour=0, interlaced=1), "a").pixels.max() == 0
    assert "cut short" in reason(png(40, 24, passes[:-1], colour=0, interlaced=1))


def test_a_png_that_inflates_without_end_is_not_inflated_further_than_its_pixels():
    bomb = png(40, 24, bytes(200_000_000))
    tracemalloc.start()
    assert open_image(bomb, "a").pixels.shape == (24, 40, 3)
    assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tag_278": [1]}, "structure"),
        ({"tag_273": [8] * 50}, "structure"),
        ({"tag_273": [8] * 50, "tag_278": [23], "tag_279": [1] * 50}, "structure"),
        ({"tag_278": [0]}, "structure"),
        ({"tag_273": [10**6]}, "cut short"),
        ({"tag_279": [10**6]}, "cut short"),
        ({"tag_259": [50001]}, "compression"),
        ({"tag_259": [7]}, "compression"),
        ({"tag_254": [1]}, "preview"),
        ({"tag_50706": [1]}, "camera raw"),
        ({"tag_277": [60000]}, "60000 channels"),
        ({"tag_259": [9], "tag_322": [1 << 15], "tag_323": [1 << 15], "tag_324": [8]}, "compression"),
        ({"tag_258": [7]}, "variant of TIFF"),
        ({"sample_format": 2}, "sign"),
    ],
)
def test_tricks_with_a_tiffs_tags_are_refused(changes, said):
    values = SMALL[:, :, 0]
    np.testing.assert_array_equal(open_image(grey_tiff(values, bits=8), "a").pixels[:, :, 0], values)
    assert said in reason(grey_tiff(values, **{"bits": 8, **changes}))


def test_a_tiff_whose_tiles_are_far_larger_than_the_image_is_refused():
    tags = {256: [40], 257: [24], 258: [8], 259: [5], 262: [1], 277: [1], 322: [1 << 15], 323: [1 << 15]}
    tags |= {324: [8], 325: [100], 273: []}
    assert "structure" in reason(tiff([(tag, 4, n) for tag, n in tags.items()], bytes(100)))


def test_tags_of_a_tiff_cannot_share_bytes_to_ask_for_more_than_the_file_holds():
    values = SMALL[:, :, 0]
    shared = b"".join(struct.pack("<HHII", 40_000 + row, 1, 5000, 8) for row in range(1000))
    whole = grey_tiff(values, bits=8)
    (start,) = struct.unpack_from("<I", whole, 4)
    (count,) = struct.unpack_from("<H", whole, start)
    entries = whole[start + 2 : start + 2 + 12 * count]
    data = whole[:start] + struct.pack("<H", count + 1000) + entries + shared + bytes(4)
    assert "structure" in reason(data)


def test_stray_bytes_between_the_segments_of_a_jpeg_do_no_harm():
    place = JPEG.index(b"\xff\xdb")
    strayed = JPEG[:place] + b"\0\0\0\xff\xff" + JPEG[place:]
    np.testing.assert_array_equal(open_image(strayed, "a").pixels, open_image(JPEG, "a").pixels)
