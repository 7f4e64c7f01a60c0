"""Cases from the field on uploads (B); field_cases.py lists all rows."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from field_cases import tried
from made_images import encode, grey_tiff, picture, turned
from PIL import Image

from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000.fields import match_key
from l2d_core.datasets.image_files import read_image
from l2d_core.images.archives import open_archive, open_images
from l2d_core.images.opening import ImageProblem, open_image, safe_name

PICTURE = picture(45, 60)


def refusal(data, name="a.jpg"):
    with pytest.raises(ImageProblem) as caught:
        open_image(data, name)
    return str(caught.value)


@tried("B1", jpeg="JPEG", tiff="TIFF")
def test_cmyk_becomes_rgb_of_the_right_colours_with_a_note(given):
    opened = open_image(encode(Image.fromarray(PICTURE).convert("CMYK"), given), "c.jpg")
    assert np.abs(opened.pixels.astype(int) - PICTURE.astype(int)).mean() < 8
    assert any("CMYK turned into RGB" in note for note in opened.notes)


@tried("B2", L="L", LA="LA", P="P", bilevel="1", RGBA="RGBA", I16="I;16", CMYK="CMYK")
def test_every_mode_has_three_channels_in_the_end(given):
    image = Image.fromarray(PICTURE)
    image = image.convert("L").convert("I").convert("I;16") if given == "I;16" else image.convert(given)
    opened = open_image(encode(image, "TIFF" if given == "CMYK" else "PNG"), "a.png")
    assert opened.pixels.shape == (45, 60, 3)
    grey = given in ("L", "LA", "1", "I;16")
    assert any("no colour information" in warning for warning in opened.warnings) == grey
    assert bool(opened.notes) == (given != "RGBA")


@tried("B4", png="PNG", webp="WEBP", tiff="TIFF")
def test_what_is_transparent_is_white_for_training_and_for_uploads(given, tmp_path):
    pixels = np.dstack([np.full((40, 40, 3), (200, 120, 100), np.uint8), np.zeros((40, 40), np.uint8)])
    data = encode(pixels, given, **({"lossless": True, "exact": True} if given == "WEBP" else {}))
    assert (open_image(data, "a.png").pixels == 255).all()
    (tmp_path / "a.png").write_bytes(data)
    white = tmp_path / "white.png"
    white.write_bytes(encode(np.full((40, 40, 3), 255, np.uint8)))
    assert (read_image(tmp_path / "a.png", (32, 32)) == read_image(white, (32, 32))).all()


@tried("B4", orientation=6, mirrored=2)
def test_what_is_turned_upright_in_an_upload_is_so_in_training(given, tmp_path):
    (tmp_path / "turned.jpg").write_bytes(encode(PICTURE, "JPEG", exif=turned(given), quality=95))
    (tmp_path / "upright.png").write_bytes(encode(open_image((tmp_path / "turned.jpg").read_bytes(), "a").pixels))
    trained = [read_image(tmp_path / name, (32, 32)) for name in ("turned.jpg", "upright.png")]
    assert (trained[0] == trained[1]).all()


@tried("B6", heic=b"heic", heix=b"heix", mif1=b"mif1", avif=b"avif")
def test_the_format_of_phones_is_named_with_advice_whatever_its_name(given):
    told = refusal(b"\0\0\0\x18ftyp" + given + bytes(100), "a.jpg")
    assert re.fullmatch(r"a\.jpg: .*(HEIC|AVIF).*; export it as JPEG or PNG \(renaming does not help\)", told)


@tried("B8", empty=b"", page=b"<html>", doctype=b"<!DOCTYPE html>\n<html>", json=b'{"error": 404}')
def test_an_empty_file_or_a_page_is_called_so(given):
    assert re.search("0 bytes|HTML|text", refusal(given, "z.jpg"))


@tried("B10", upper_case="a.JPG", jpeg="a.JPEG", png="a.PNG", text="b.txt", stream="c.jpg:x.png", none="a")
def test_the_content_decides_and_not_the_name(given):
    opened = open_image(encode(PICTURE), given)
    assert opened.format == "PNG"
    assert any("its content is PNG" in note for note in opened.notes) == (given in ("a.JPG", "a.JPEG", "b.txt"))
    assert "text" in refusal(b"just words", given)


@tried("B11", as_written=1100, with_failures=40)
def test_of_a_zip_of_many_as_many_come_as_went_in(given):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(given):
            archive.writestr(f"{number}.png", b"no" if number % 3 == 0 and given < 100 else SMALL)
    opened = open_archive(stream.getvalue(), "many.zip")
    found = list(open_images(opened))
    assert len(found) == len(opened) == given
    assert sum(isinstance(one, ImageProblem) for one in found) == (14 if given < 100 else 0)


SMALL = encode(picture(8, 8))


@tried(
    "B14", umlauts="läsion_ü.jpg", chinese="皮膚病変.jpg", blanks="a b  c.jpg", emoji="🩺.jpg", decomposed="u\u0308.jpg"
)
def test_names_in_any_script_are_kept(given):
    import unicodedata

    assert open_image(SMALL, given).name == unicodedata.normalize("NFC", " ".join(given.split()))
    assert match_key(Path(safe_name(given)).stem) == match_key(Path(safe_name(given.upper())).stem)


@tried("B14", letters="x" * 300 + ".jpg", chinese="膚" * 300 + ".jpg")
def test_a_long_name_keeps_its_ending(given):
    name = open_image(SMALL, given).name
    assert len(name) <= 80
    assert name.endswith(".jpg")


def frames(kind):
    images = [Image.fromarray(PICTURE), Image.fromarray(PICTURE[::-1].copy())]
    return encode(
        images[0], kind, save_all=True, append_images=images[1:], **({"lossless": True} if kind == "WEBP" else {})
    )


@tried("B16", webp="WEBP", tiff="TIFF", png="PNG")
def test_of_several_pictures_the_first_is_taken_with_a_note(given):
    opened = open_image(frames(given), "a")
    np.testing.assert_array_equal(opened.pixels, PICTURE)
    assert any("first of" in note for note in opened.notes)


@tried("B16", float_0_to_1=np.float32, half=np.uint16, dicom=None)
def test_more_than_8_bits_are_scaled_and_never_become_zero(given):
    if given is None:
        assert "DICOM; export the picture" in refusal(bytes(128) + b"DICM" + bytes(100), "a.jpg")
        return
    values = (np.linspace(0, 1, 1600).reshape(40, 40) * (1 if given is np.float32 else 65535)).astype(given)
    data = grey_tiff(values, bits=values.itemsize * 8, sample_format=3 if given is np.float32 else 1)
    opened = open_image(data, "a.tif")
    assert (opened.pixels.min(), opened.pixels.max()) == (0, 255)
    assert any("scaled" in note for note in opened.notes)


@tried("B17", semicolons=";", tabs="\t", commas=",", bars="|")
def test_excels_csv_is_read(given):
    lines = ["Image_ID;Age;Sex", '"ISIC_1";"55,0";Female', "NA;None;male"]
    text = "\ufeff" + "\n".join(line.replace(";", given) for line in lines)
    table = ham10000.read_metadata(text.encode(), labelled=False)
    assert table["image_id"].tolist() == ["ISIC_1", "NA"]
    assert table["age"].tolist() == ["55", "unknown"]
    assert table["sex"].tolist() == ["female", "male"]


@tried("B17", other_column="name;age", blank=" ;age")
def test_a_column_that_is_missing_is_named_with_those_that_are_there(given):
    with pytest.raises(ValueError, match=r"lacks the column image_id .*; it has .*age"):
        ham10000.read_metadata(f"{given}\nx;1".encode(), labelled=False)


@tried(
    "B18",
    plain="ISIC_1.jpg",
    copy="ISIC_1 (1).JPG",
    lower="isic_1.jpeg",
    windows="ISIC_1 - Copy.png",
    blank=" ISIC_1.png",
)
def test_a_file_is_matched_by_its_stem_and_never_by_position(given):
    assert match_key(Path(given).stem) == match_key("ISIC_1")
    assert match_key(Path(given.replace("1", "10", 1)).stem) != match_key("ISIC_1")
