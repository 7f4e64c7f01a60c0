"""Images from outside: every mode and format becomes upright RGB by a stated rule, and says what was done."""

import dataclasses
import hashlib
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from made_images import chunk, encode, grey_tiff, picture, png, tiff, turned
from PIL import Image, ImageCms, ImageFile

from l2d_core.common.paths import DATA_ROOT
from l2d_core.images.opening import open_image, safe_name

LOSSLESS = {
    "PNG": {},
    "BMP": {},
    "WEBP": {"lossless": True},
    "TIFF": {},
    "TIFF in LZW": {"compression": "tiff_lzw"},
    "TIFF in deflate": {"compression": "tiff_deflate"},
    "TIFF in PackBits": {"compression": "packbits"},
}


@pytest.mark.parametrize("kind", LOSSLESS)
def test_lossless_formats_give_the_pixels_that_were_saved(kind):
    data = encode(picture(), kind.split()[0], **LOSSLESS[kind])
    opened = open_image(data, "a")
    np.testing.assert_array_equal(opened.pixels, picture())
    assert (opened.format, opened.original_size, opened.notes, opened.warnings) == (kind.split()[0], (64, 48), (), ())
    assert opened.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}])
def test_a_jpeg_is_close_to_what_was_saved(options):
    opened = open_image(encode(picture(), "JPEG", quality=95, **options), "a.JPG")
    assert np.abs(opened.pixels.astype(int) - picture()).mean() < 3
    assert opened.notes == ()


def test_an_opened_image_cannot_be_changed():
    opened = open_image(encode(picture()), "a.png")
    with pytest.raises(ValueError, match="read-only"):
        opened.pixels[0, 0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        opened.name = "b"


@pytest.mark.parametrize(
    ("mode", "note"),
    [
        ("L", "grey turned into RGB"),
        ("1", "black and white turned into RGB"),
        ("LA", "grey turned into RGB"),
        ("P", "palette turned into RGB"),
    ],
)
def test_every_8_bit_mode_of_a_png_ends_as_rgb_with_a_note(mode, note):
    source = Image.fromarray(picture()).convert(mode)
    opened = open_image(encode(source), "a.png")
    np.testing.assert_array_equal(opened.pixels, np.asarray(source.convert("RGB")))
    assert opened.notes == (note,)
    assert ("grey: no colour information" in opened.warnings) == (mode != "P")


def test_transparent_pixels_become_white_and_never_show_what_they_hide():
    pixels = np.zeros((40, 40, 4), np.uint8)
    pixels[:, :] = 200, 120, 100, 0
    pixels[:20] = 200, 120, 100, 255
    pixels[:, :10, 3] = 51  # a fifth: 255 + (c - 255) / 5
    opened = open_image(encode(pixels), "a.png")
    assert opened.pixels[0, 0].tolist() == [244, 228, 224]
    assert opened.pixels[0, 20].tolist() == [200, 120, 100]
    assert opened.pixels[39, 39].tolist() == [255, 255, 255]
    assert opened.notes == ("transparency laid over white",)
    assert open_image(encode(pixels[:20, 10:]), "a.png").notes == (), "all opaque"


def test_grey_and_palette_with_transparency_are_laid_over_white():
    grey = Image.fromarray(np.dstack([np.full((40, 40), 55, np.uint8), np.full((40, 40), 51, np.uint8)]), "LA")
    assert open_image(encode(grey), "a.png").pixels[0, 0].tolist() == [215] * 3
    palette = Image.new("P", (40, 40), 1)
    palette.putpalette([10, 20, 30, 200, 120, 100])
    palette.putpixel((0, 0), 0)
    opened = open_image(encode(palette, transparency=1), "a.png")
    assert opened.pixels[0, 0].tolist() == [10, 20, 30]
    assert opened.pixels[1, 1].tolist() == [255] * 3
    assert opened.notes == ("palette turned into RGB", "transparency laid over white")


def test_a_colour_named_as_transparent_becomes_white():
    opened = open_image(encode(Image.new("RGB", (40, 40), (9, 8, 7)), transparency=(9, 8, 7)), "a.png")
    assert opened.pixels.min() == 255
    rows = (b"\0" + b"\x03\xe8" * 40) * 40
    deep = png(40, 40, rows, bits=16, colour=0, extra=chunk(b"tRNS", b"\x03\xe8"))
    assert open_image(deep, "a.png").pixels.min() == 255


def test_cmyk_is_turned_into_rgb_and_is_not_inverted():
    source = Image.fromarray(picture())
    opened = open_image(encode(source.convert("CMYK"), "JPEG", quality=95), "a.jpg")
    assert np.abs(opened.pixels.astype(int) - picture()).mean() < 4
    assert opened.notes == ("CMYK turned into RGB",)
    ink = open_image(encode(Image.new("CMYK", (40, 40), (0, 255, 255, 51)), "TIFF"), "a.tif")
    assert ink.pixels[0, 0].tolist() == [204, 0, 0], "255 (1 - 0.2), and no green or blue"


def lab_tiff(lab):
    tags = {256: [40], 257: [40], 258: [8, 8, 8], 259: [1], 262: [8], 277: [3], 278: [40], 279: [4800]}
    return tiff([(tag, 4, numbers) for tag, numbers in tags.items()], bytes(lab) * 1600)


def test_lab_and_ycbcr_are_turned_into_rgb():
    for bytes_of_lab, rgb in [((128, 0, 0), [119] * 3), ((136, 80, 67), [255, 0, 0])]:  # L 50.2; L 53.2, a 80, b 67
        half = open_image(lab_tiff(bytes_of_lab), "a.tif")
        assert half.pixels[0, 0].tolist() == pytest.approx(rgb, abs=12 if max(rgb) == 255 else 1)
    assert half.notes == ("Lab turned into RGB",)
    luma = open_image(encode(Image.new("YCbCr", (40, 40), (76, 85, 255)), "TIFF"), "a.tif")
    assert luma.pixels[0, 0].tolist() == pytest.approx([254, 0, 0], abs=1)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_of_16_bits_the_upper_8_are_kept(kind):
    values = np.tile(np.array([0, 255, 256, 32768, 65280, 65535], np.uint16).repeat(10), (40, 1))
    opened = open_image(encode(values, kind), "a")
    assert opened.pixels[0, ::10, 0].tolist() == [0, 0, 1, 128, 255, 255]
    assert "16 bits a channel scaled to 8" in opened.notes
    assert "grey: no colour information" in opened.warnings


@pytest.mark.parametrize("options", [{}, {"compression": "tiff_lzw"}])
def test_the_order_of_bytes_does_not_matter(options):
    values = (np.arange(40 * 48).reshape(40, 48) * 34).astype(">u2")
    opened = open_image(encode(Image.frombytes("I;16B", (48, 40), values.tobytes()), "TIFF", **options), "a.tif")
    np.testing.assert_array_equal(opened.pixels[:, :, 0], values >> 8)


def test_of_12_bits_the_upper_8_are_kept():
    packed = np.tile(np.array([0x00, 0x0F, 0xFF, 0x80, 0x00, 0x10], np.uint8), (40, 10))  # 0, 4095, 2048, 16
    opened = open_image(grey_tiff(packed, bits=12, tag_256=[40]), "a.tif")
    assert opened.pixels[0, :4, 0].tolist() == [0, 255, 128, 1]


def test_16_bit_colour_follows_the_same_rule():
    rows = b"".join(b"\0" + bytes([200, 255, 120, 0, 100, 7]) * 40 for _ in range(40))
    opened = open_image(png(40, 40, rows, bits=16), "a.png")
    assert opened.pixels[0, 0].tolist() == [200, 120, 100]
    assert opened.notes == ("16 bits a channel scaled to 8",)
    hidden = chunk(b"tRNS", bytes([200, 255, 120, 0, 100, 7]))
    assert open_image(png(40, 40, rows, bits=16, extra=hidden), "a.png").pixels.min() == 255


def test_a_tiff_whose_zero_is_white_is_not_shown_as_a_negative():
    values = np.tile(np.array([0, 65535], np.uint16).repeat(20), (40, 1))
    opened = open_image(grey_tiff(values, bits=16, zero_is_white=True), "a.tif")
    assert opened.pixels[0, [0, 39], 0].tolist() == [255, 0]
    eight = grey_tiff((values >> 8).astype(np.uint8), bits=8, zero_is_white=True)
    np.testing.assert_array_equal(open_image(eight, "a.tif").pixels, opened.pixels)


def test_floats_from_0_to_1_are_scaled_by_255():
    values = np.tile(np.array([0, 0.2, 0.5, 1], np.float32).repeat(10), (40, 1))
    opened = open_image(encode(values, "TIFF"), "a.tif")
    assert opened.pixels[0, ::10, 0].tolist() == [0, 51, 128, 255]
    assert opened.notes == ("float values scaled: 0 is black, 1 is white", "grey turned into RGB")
    assert not any("contrast" in line for line in opened.warnings)


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_values_without_an_agreed_white_are_scaled_from_darkest_to_brightest_with_a_warning(kind):
    values = np.tile(np.array([-100, 0, 300], kind).repeat(20), (40, 1))
    opened = open_image(encode(values, "TIFF"), "a.tif")
    assert opened.pixels[0, ::20, 0].tolist() == [0, 64, 255]
    assert "-100 is black, 300 is white" in opened.notes[0]
    assert any("contrast" in line for line in opened.warnings)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_an_image_is_turned_upright_exactly_once(kind, orientation):
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transpositions that exif asks for, inverted
    stored = Image.fromarray(picture())
    stored = stored.transpose(Image.Transpose(undo[orientation])) if orientation > 1 else stored
    options = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}.get(kind, {})
    opened = open_image(encode(stored, kind, exif=turned(orientation), **options), "a")
    assert opened.pixels.shape == picture().shape
    assert np.abs(opened.pixels.astype(int) - picture()).mean() < 2
    assert opened.original_size == stored.size
    assert opened.notes == (("turned upright, as its EXIF data say",) if orientation > 1 else ())


@pytest.mark.parametrize("exif", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", turned(0).tobytes(), b"junk"])
def test_exif_data_that_make_no_sense_leave_the_image_as_it_is(exif):
    opened = open_image(encode(picture(), "PNG", exif=exif), "a.png")
    np.testing.assert_array_equal(opened.pixels, picture())


@pytest.mark.parametrize(
    ("kind", "note"), [("PNG", "first of 2"), ("WEBP", "first of 2"), ("TIFF", "first of several")]
)
def test_of_several_pictures_the_first_is_taken_with_a_note(kind, note):
    second = Image.fromarray(picture()[::-1].copy())
    options = {"lossless": True} if kind == "WEBP" else {}
    opened = open_image(encode(picture(), kind, save_all=True, append_images=[second], **options), "a")
    np.testing.assert_array_equal(opened.pixels, picture())
    assert note in opened.notes[0]


def test_a_profile_other_than_srgb_is_noted_and_ignored():
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    other = open_image(encode(picture(), icc_profile=lab), "a.png")
    np.testing.assert_array_equal(other.pixels, picture())
    assert other.notes == ("its colour profile was ignored: colours are taken as sRGB",)
    assert open_image(encode(picture(), icc_profile=srgb), "a.png").notes == ()


def test_the_content_decides_and_another_ending_is_only_noted():
    data = encode(picture())
    assert open_image(data, "a.JPG").notes == ("its name ends in .jpg, its content is PNG",)
    assert open_image(data, "b.txt").notes == ("its name ends in .txt, its content is PNG",)
    assert open_image(data, "a.PNG").notes == open_image(data, "c.jpg:x.png").notes == ()
    assert open_image(data, "ISIC_0024306").notes == ()


@pytest.mark.parametrize(
    ("pixels", "warning"),
    [
        (picture(8, 8), "tiny: 8 x 8 pixels"),
        (picture(31, 64), "tiny: 64 x 31 pixels"),
        (picture(40, 400), "odd aspect: 400 x 40 pixels"),
        (np.zeros((45, 60, 3), np.uint8), "blank"),
        (np.full((45, 60, 3), (200, 120, 100), np.uint8), "blank"),
        (picture()[:, :, [1, 1, 1]], "grey: no colour information"),
        (np.random.default_rng(0).integers(0, 256, (45, 60, 3), np.uint8), "noise"),
    ],
)
def test_what_is_odd_is_warned_of_and_the_image_still_opens(pixels, warning):
    opened = open_image(encode(pixels), "a.png")
    assert any(line.startswith(warning) for line in opened.warnings), opened.warnings
    np.testing.assert_array_equal(opened.pixels, pixels)


def test_a_picture_gives_no_warnings():
    assert open_image(encode(picture(150, 200)), "a.png").warnings == ()
    assert open_image(encode(picture(32, 96)), "a.png").warnings == ()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("läsion_ü.jpg", "läsion_ü.jpg"),
        ("la\u0308sion.jpg", "läsion.jpg"),
        ("皮膚 病変.png", "皮膚 病変.png"),
        ("🩺 a b  c.jpg", "🩺 a b c.jpg"),
        ("C:\\fakepath\\x.jpg", "x.jpg"),
        ("../../etc/passwd", "passwd"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("a\nb\x1b[31m.png", "a\ufffdb\ufffd[31m.png"),
        ("", "unnamed"),
        ("..", "unnamed"),
        ("\u200b", "unnamed"),
        ("\ud800.png", "\ufffd.png"),
        ("\u3164\u2800\u0301\u0301", "unnamed"),
        ("e" + "\u0332" * 50 + ".jpg", "e" + "\u0332" * 4 + ".jpg"),
    ],
)
def test_a_name_is_made_safe_to_show(name, shown):
    assert safe_name(name) == shown


def test_a_long_name_keeps_its_beginning_and_its_ending():
    shown = safe_name("lesion " + "x" * 300 + ".jpeg")
    assert len(shown) == 80
    assert shown.startswith("lesion xx")
    assert shown.endswith("xx.jpeg")


def test_threads_that_decode_at_once_do_not_mix_and_leave_pillow_as_it_was():
    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    files = [encode(np.roll(picture(), shift, axis=1), kind) for shift in range(8) for kind in ("PNG", "TIFF", "BMP")]
    files = files * 4
    random.Random(0).shuffle(files)
    alone = [open_image(data, "a").pixels for data in files]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda data: open_image(data, "a").pixels, files))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "ham10000").is_dir(), reason="L2D_DATA_ROOT holds no ham10000")
def test_real_lesions_open_without_notes_or_warnings():
    paths = sorted((DATA_ROOT / "ham10000" / "images").glob("*.jpg"))[::200]
    assert paths
    for path in paths:
        opened = open_image(path.read_bytes(), path.name)
        assert (opened.notes, opened.warnings) == ((), ())
