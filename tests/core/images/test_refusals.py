"""Files that are refused: each by name, with advice, before it costs anything; and never anything but ImageProblem."""

import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_images import encode, picture, reason
from PIL import Image, ImageFile

from l2d_core.images import headers, opening
from l2d_core.images.opening import ImageProblem, OpenedImage, open_image

SMALL = picture(24, 40)
WHOLE = {
    "JPEG": encode(SMALL, "JPEG"),
    "progressive JPEG": encode(SMALL, "JPEG", progressive=True),
    "CMYK JPEG": encode(Image.fromarray(SMALL).convert("CMYK"), "JPEG"),
    "PNG": encode(SMALL),
    "palette PNG": encode(Image.fromarray(SMALL).convert("P")),
    "WebP": encode(SMALL, "WEBP"),
    "lossless WebP": encode(SMALL, "WEBP", lossless=True),
    "animated WebP": encode(SMALL, "WEBP", save_all=True, append_images=[Image.fromarray(SMALL[::-1].copy())]),
    "BMP": encode(SMALL, "BMP"),
    "TIFF": encode(SMALL, "TIFF"),
    "TIFF in LZW": encode(SMALL, "TIFF", compression="tiff_lzw"),
    "TIFF in deflate": encode(SMALL, "TIFF", compression="tiff_deflate"),
    "TIFF in PackBits": encode(SMALL, "TIFF", compression="packbits"),
}


@pytest.mark.parametrize(
    ("data", "what", "advice"),
    [
        (b"", "0 bytes", "again"),
        (bytes(500), "500 bytes that are all zero", "again"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC", "JPEG or PNG"),
        (b"\0\0\0\x18ftypheix\0\0\0\0", "HEIC", "renaming does not help"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0", "HEIC", "JPEG or PNG"),
        (b"\0\0\0\x18ftypavif\0\0\0\0", "AVIF", "JPEG or PNG"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "film", "picture"),
        (bytes(128) + b"DICM" + bytes(99), "DICOM", "viewer"),
        (b"%PDF-1.7\n%\xe2\xe3", "PDF", "picture in it"),
        (b"<html>", "HTML", "web page"),
        (b"\xef\xbb\xbf  <!DOCTYPE html>\n<p>404</p>", "HTML", "web page"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG", "JPEG or PNG"),
        ("<svg />".encode("utf-16"), "SVG", "JPEG or PNG"),
        (b'<?xml version="1.0"?><a/>', "XML", "image"),
        (b"image_id;dx\nISIC_1;nv\n", "text", "image itself"),
        ("Läsion, schräg".encode(), "text", "image itself"),
        (b'{"error": 404}', "text", "image itself"),
        (b"BMW and other words, in all more than thirty bytes of them", "text", "image itself"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS", "git lfs pull"),
        (encode(SMALL, "GIF"), "GIF", "original"),
        (b"PK\x03\x04\x14\0", "zip", "unpack"),
        (b"\x1f\x8b\x08\0", "gzip", "unpack"),
        (b"7z\xbc\xaf\x27\x1c\0", "7z", "unpack"),
        (b"Rar!\x1a\x07\x01\0", "RAR", "unpack"),
        (b"8BPS\0\x01", "Photoshop", "JPEG or PNG"),
        (b"II\x2b\0\x08\0\0\0", "BigTIFF", "plain TIFF"),
        (b"\x7fELF\x02\x01", "program", "image"),
        (bytes(range(128, 256)) * 4, "unknown", "JPEG, PNG, WebP"),
        (encode(SMALL, "PPM"), "unknown", "JPEG, PNG, WebP"),
    ],
)
def test_what_is_no_accepted_image_is_named_with_advice(data, what, advice):
    found = reason(data)
    assert what in found
    assert advice in found.split(what)[1]


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_is_cut_anywhere_is_refused(kind):
    whole = WHOLE[kind]
    assert open_image(whole, "a").pixels.shape == (24, 40, 3)
    for length in range(0, len(whole), 1 + len(whole) // 200):
        reason(whole[:length])
    for length in range(len(whole) - 12, len(whole)):
        reason(whole[:length])


def test_a_cut_file_is_refused_even_where_pillow_was_told_to_accept_it(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    for whole in WHOLE.values():
        for share in (0.3, 0.6, 0.9, 0.99):
            reason(whole[: int(share * len(whole))])
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


@pytest.mark.parametrize("whole", WHOLE.values(), ids=list(WHOLE))
def test_bytes_behind_the_end_do_no_harm(whole):
    np.testing.assert_array_equal(open_image(whole + b"more" * 9, "a").pixels, open_image(whole, "a").pixels)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(WHOLE)),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.booleans(),
)
def test_any_changed_bytes_give_an_image_or_a_problem(kind, changes, early):
    data = bytearray(WHOLE[kind])
    for place, value in changes:
        data[int(place * (min(len(data), 160 if early else len(data)) - 1))] = value
    try:
        opened = open_image(bytes(data), "a")
    except ImageProblem:
        return
    assert isinstance(opened, OpenedImage)
    assert opened.pixels.dtype == np.uint8
    assert opened.pixels.shape[2:] == (3,)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([whole[:16] for whole in WHOLE.values()]), st.binary(max_size=200))
def test_any_bytes_behind_a_signature_give_a_problem(signature, rest):
    reason(signature + rest)


def test_a_changed_byte_in_a_png_never_goes_unnoticed():
    whole = WHOLE["PNG"]
    for place in range(8, len(whole)):
        data = bytearray(whole)
        data[place] ^= 1
        reason(bytes(data))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_floats_that_are_not_finite_are_refused(bad):
    values = np.full((24, 40), 0.5, np.float32)
    values[3, 4] = bad
    assert "not finite" in reason(encode(values, "TIFF"))


def test_a_size_that_the_decoder_sees_otherwise_is_refused(monkeypatch):
    monkeypatch.setitem(headers._READERS, "PNG", lambda data: headers.Header(5, 5))
    assert "damaged" in reason(WHOLE["PNG"])


@pytest.mark.parametrize(
    "error", [MemoryError, RecursionError, struct.error, OSError, SyntaxError, zlib.error, Warning]
)
def test_whatever_a_decoder_raises_becomes_a_problem(monkeypatch, error):
    def fail(stream, formats):  # noqa: ARG001
        raise error("inner words")

    monkeypatch.setattr(opening.Image, "open", fail)
    assert "inner words" not in reason(WHOLE["PNG"])


def test_pillow_is_asked_for_one_format_only(monkeypatch):
    asked = []
    pillow_open = opening.Image.open

    def spy(stream, formats):
        asked.append(formats)
        return pillow_open(stream, formats=formats)

    monkeypatch.setattr(opening.Image, "open", spy)
    open_image(WHOLE["BMP"], "a.gif")
    assert asked == [("BMP",)]


def test_a_problem_that_is_kept_does_not_keep_the_file():
    with pytest.raises(ImageProblem) as caught:
        open_image(WHOLE["JPEG"][:-20], "a")
    problem = caught.value
    assert problem.__context__ is None
    assert problem.__cause__ is None
    step = problem.__traceback__.tb_next
    while step:
        assert not any(isinstance(value, bytes) for value in step.tb_frame.f_locals.values())
        step = step.tb_next


def test_the_name_in_a_problem_is_safe_to_show():
    with pytest.raises(ImageProblem) as caught:
        open_image(b"", "../x\u202e\n" + "y" * 400 + ".jpg")
    assert len(caught.value.name) == 80
    assert str(caught.value).startswith("x\ufffdyyy")


def test_pillows_warnings_of_odd_metadata_are_not_shown():
    code = """
import io, sys, warnings
sys.path.insert(0, "tests/core")
from made_images import chunk, encode, picture
from l2d_core.images.opening import open_image
entry = b"\\x0f\\x01\\x02\\0\\xff\\xff\\0\\0\\x08\\0\\0\\0"
data = encode(picture(), "JPEG", exif=b"Exif\\0\\0II*\\0\\x08\\0\\0\\0\\x09\\0" + entry * 3)
assert open_image(data, "a.jpg").notes == ()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
