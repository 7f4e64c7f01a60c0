"""Zips of images: every member comes in order as an image or a named problem, and no zip costs more than it may."""

import io
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_images import encode, picture

from l2d_core.images import archives
from l2d_core.images.archives import is_archive, open_archive, open_images, read_members
from l2d_core.images.opening import ImageProblem, OpenedImage

PNG = encode(picture(24, 40))
OTHER = encode(picture(24, 40)[::-1].copy())


def zipped(members, *, compression=zipfile.ZIP_DEFLATED, comment=b""):
    """A zip of (name or ZipInfo, bytes)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.comment = comment
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def told(name, *, mode=0, **fields):
    """A member's entry as a hostile or a foreign program may write it."""
    info = zipfile.ZipInfo("x")
    info.filename = name
    info.external_attr = mode << 16
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def results(data, name="a.zip"):
    archive = open_archive(data, name)
    found = list(open_images(archive))
    assert len(found) == len(archive)
    return found


def refusal(data):
    with pytest.raises(ImageProblem) as caught:
        open_archive(data, "a.zip")
    return caught.value.reason


def problem_of(data):
    """The reason of the one member that is refused, between two that are good."""
    good, bad, other = results(data)
    assert isinstance(good, OpenedImage)
    assert isinstance(other, OpenedImage)
    assert isinstance(bad, ImageProblem)
    return bad.reason


def between(name, data=PNG, **options):
    return zipped([("a.png", PNG), (name, data), ("z.png", OTHER)], **options)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_come_in_the_order_of_the_zip_with_their_pixels(compression):
    found = results(zipped([("b/2.png", OTHER), ("1.png", PNG), ("b/3.jpg", PNG)], compression=compression))
    assert [image.name for image in found] == ["b/2.png", "1.png", "b/3.jpg"]
    np.testing.assert_array_equal(found[0].pixels, picture(24, 40)[::-1])
    np.testing.assert_array_equal(found[1].pixels, picture(24, 40))
    assert found[1].digest == found[2].digest != found[0].digest
    assert found[2].notes == ("its name ends in .jpg, its content is PNG",)


def test_what_is_no_image_is_a_named_problem_and_the_rest_still_comes():
    assert problem_of(between("notes/read me.txt", b"hello")).startswith("not an image that is read here: this is text")
    assert "0 bytes" in problem_of(between("empty.png", b""))
    assert "cut short" in problem_of(between("cut.png", PNG[:-9]))
    name = results(between("notes/read me.txt", b"hello"))[1].name
    assert name == "notes/read me.txt"


def test_folders_and_extras_of_the_system_are_skipped_and_counted():
    extras = ["__MACOSX/._1.png", "._1.png", "f/._2.png", ".DS_Store", "f/.DS_Store", "Thumbs.db", "f/", "desktop.ini"]
    archive = open_archive(zipped([*((name, b"") for name in extras), ("f/1.png", PNG)]), "a.zip")
    assert (len(archive), archive.skipped) == (1, 8)
    assert [image.name for image in open_images(archive)] == ["f/1.png"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../up.png", "up.png"),
        ("f/../../up.png", "f/up.png"),
        ("..", "unnamed"),
        ("/etc/up.png", "etc/up.png"),
        ("C:/up.png", "C:/up.png"),
        ("c:up.png", "c:up.png"),
        ("f\\up.png", "f/up.png"),
        ("..\\up.png", "up.png"),
    ],
)
def test_a_path_that_leads_out_of_the_zip_is_refused(name, shown):
    found = results(between(told(name)))
    assert found[1].name == shown
    assert "leads out of the zip" in found[1].reason


def test_a_name_with_a_hidden_end_is_refused():
    data = between("up.pngX.exe").replace(b"up.pngX.exe", b"up.png\0.exe")
    assert "leads out of the zip" in problem_of(data)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(kind):
    assert "a link or a device" in problem_of(between(told("x.png", mode=kind | 0o777), b"/etc/passwd"))
    assert isinstance(results(between(told("x.png", mode=stat.S_IFREG | 0o644)))[1], OpenedImage)


def flagged(data, bit):
    """The zip with a flag of its second member set, in both places that hold it."""
    data = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        second = data.index(signature, data.index(signature) + 4)
        data[second + offset] |= bit
    return bytes(data)


def test_an_encrypted_member_is_refused():
    assert "without a password" in problem_of(flagged(between("x.png"), 1))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_cannot_be_unpacked_in_steps_are_refused(compression):
    found = results(zipped([("x.png", PNG)], compression=compression))
    assert "compression" in found[0].reason


def test_a_zip_inside_the_zip_is_refused_by_name():
    found = results(between("inner.png", zipped([("x.png", PNG)])))
    assert found[1].name == "inner.png"
    assert "a zip inside the zip" in found[1].reason


def test_the_same_name_twice_keeps_both_under_two_names():
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped([("x.png", PNG), ("x.png", OTHER), ("x (2).png", PNG), ("x.png", PNG)])
    found = results(data)
    assert [image.name for image in found] == ["x.png", "x (3).png", "x (2).png", "x (4).png"]
    np.testing.assert_array_equal(found[1].pixels, picture(24, 40)[::-1])


def test_names_in_other_alphabets_survive_marked_as_utf8_or_not():
    assert results(zipped([("läsion_ü 皮膚.png", PNG)]))[0].name == "läsion_ü 皮膚.png"
    unmarked = zipped([("l--sion.png", PNG)]).replace(b"l--sion", "läsion".encode())
    assert results(unmarked)[0].name == "läsion.png"
    old = zipped([("l-sion.png", PNG)]).replace(b"l-sion", "läsion".encode("cp437"))
    assert results(old)[0].name == "läsion.png"


def test_a_name_that_is_not_the_utf8_it_claims_is_refused():
    data = zipped([("lä.png", PNG)]).replace("lä".encode(), b"l\xff\xff")
    assert "UTF-8" in refusal(data)


def test_a_name_is_made_safe_to_show():
    assert results(zipped([("f\x1b/a\u202eb.png", PNG)]))[0].name == "f\ufffd/ab.png"
    assert len(results(zipped([("y" * 3000 + ".png", PNG)]))[0].name) == 80


def test_a_member_that_unpacks_to_a_thousand_times_its_size_is_refused_early():
    data = between("bomb.bmp", bytes(15_000_000))
    assert len(data) < 40_000
    tracemalloc.start()
    reason = problem_of(data)
    assert tracemalloc.get_traced_memory()[1] < 6 * 2**20
    tracemalloc.stop()
    assert "over 100 times its size" in reason


def test_a_small_drawing_may_shrink_as_much_as_it_likes():
    blank = encode(np.full((200, 300, 3), 200, np.uint8), "BMP")
    assert isinstance(results(between("blank.bmp", blank))[1], OpenedImage)


def test_a_member_over_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "MAX_FILE_BYTES", 2**20)
    noise = np.random.default_rng(0).bytes(2**20 + 1)
    assert "over 1 MB unpacked" in problem_of(between("x.bin", noise))
    assert "an unknown kind" in problem_of(between("x.bin", b"\x80" + noise[2:]))


def test_once_the_zip_has_unpacked_to_its_limit_every_further_member_is_a_problem(monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 2 * len(PNG) + 10)
    found = results(zipped([(f"{number}.png", PNG) for number in range(4)]))
    assert [isinstance(one, OpenedImage) for one in found] == [True, True, False, False]
    assert "more than allowed" in found[3].reason


def test_a_size_that_the_list_understates_is_not_believed():
    data = bytearray(zipped([("x.png", bytes(50_000))]))
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", 100)
    (found,) = results(bytes(data))
    assert "damaged" in found.reason


def test_too_many_members_are_refused_before_the_list_is_read(monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 20)
    assert len(results(zipped([(f"{number}.png", PNG) for number in range(20)]))) == 20
    assert "21 members, allowed are 20" in refusal(zipped([(f"{number}.png", b"") for number in range(21)]))


def test_a_damaged_member_is_a_problem_and_the_rest_still_comes():
    data = bytearray(zipped([("a.png", PNG), ("x.png", PNG), ("z.png", OTHER)], compression=zipfile.ZIP_STORED))
    data[data.index(b"x.png") + 100] ^= 1
    assert "damaged inside the zip" in problem_of(bytes(data))


def test_a_zip_that_is_cut_short_is_refused():
    data = between("x.png")
    for length in range(4, len(data), 7):
        assert "cut short" in refusal(data[:length])


def test_what_is_no_zip_or_holds_nothing_is_refused(monkeypatch):
    assert "not a zip" in refusal(PNG)
    assert "not a zip" in refusal(b"")
    assert "no files" in refusal(zipped([]))
    assert "no files" in refusal(zipped([("f/", b""), (".DS_Store", b"")]))
    assert is_archive(zipped([]))
    assert not is_archive(PNG)
    monkeypatch.setattr(archives, "MAX_ARCHIVE_BYTES", 2**20)
    assert "1.0 MB, allowed for a zip are 1 MB" in refusal(between("x.png").ljust(2**20 + 1, b"\0"))


def test_a_zip_behind_other_bytes_or_with_a_comment_is_read():
    assert len(results(between("x.png", comment=b"hello"))) == 3


def test_one_member_is_unpacked_at_a_time():
    noise = np.random.default_rng(0).bytes(2**20)
    archive = open_archive(zipped([(f"{number}.bin", noise) for number in range(20)]), "a.zip")
    tracemalloc.start()
    sizes = [len(content) for _, content in read_members(archive)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [2**20] * 20
    assert peak < 4 * 2**20


def test_eleven_hundred_images_all_come():
    small = encode(picture(32, 32))
    data = zipped([(f"ISIC_{number:04}.png", small) for number in range(1100)], compression=zipfile.ZIP_STORED)
    found = results(data)
    assert len(found) == 1100
    assert all(isinstance(one, OpenedImage) for one in found)


def test_the_bytes_of_members_can_be_read_without_decoding_them():
    names, contents = zip(*read_members(open_archive(between("x.txt", b"hello"), "a.zip")), strict=True)
    assert names == ("a.png", "x.txt", "z.png")
    assert contents == (PNG, b"hello", OTHER)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6), st.booleans())
def test_any_changed_bytes_give_images_or_problems(changes, late):
    data = bytearray(between("f/x.png"))
    first = data.index(b"PK\x01\x02") if late else 0
    for place, value in changes:
        data[first + int(place * (len(data) - 1 - first))] = value
    try:
        found = results(bytes(data))
    except ImageProblem:
        return
    assert all(isinstance(one, OpenedImage | ImageProblem) for one in found)
