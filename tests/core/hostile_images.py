"""Hostile images and zips of images, made when asked for: what each is called, and what is said of it."""

import io
import stat
import struct
import zipfile
import zlib

from made_images import chunk, encode, picture, png, tiff

GOOD = picture(24, 40)
PNG, JPEG = encode(GOOD), encode(GOOD, "JPEG")
RIGHT_TO_LEFT, HIDDEN = "\u202e", "\u200b"


def bomb_png():
    """Claims 50,000 x 50,000 pixels in a few bytes."""
    return png(50_000, 50_000, bytes(1000), bits=1, colour=0)


def text_bomb_png():
    """A compressed text that unpacks to 100 MB."""
    return png(2, 2, bytes(14), extra=chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(100 * 2**20), 9)))


def endless_png():
    """2 x 2 pixels, behind which the stream goes on to 100 MB."""
    return png(2, 2, bytes(100 * 2**20))


def lying_jpeg():
    """A JPEG whose header claims 65,535 x 65,535 pixels."""
    place = JPEG.index(b"\xff\xc0") + 5
    return JPEG[:place] + b"\xff\xff\xff\xff" + JPEG[place + 4 :]


def endless_scans():
    """A progressive JPEG whose last scan comes a thousand times."""
    data = encode(GOOD, "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * 1000 + b"\xff\xd9"


def lying_webp():
    data = bytearray(encode(GOOD, "WEBP", lossless=True))
    struct.pack_into("<I", data, 21, 0x0FFFFFFF)
    return bytes(data)


def lying_bmp():
    data = bytearray(encode(GOOD, "BMP"))
    struct.pack_into("<ii", data, 18, 2**30, 2**30)
    return bytes(data)


def many_strips_tiff():
    """A strip for each of a million rows, all of which are the same bytes."""
    tags = [(256, 4, [40]), (257, 4, [10**6]), (258, 3, [8]), (259, 3, [1]), (262, 3, [1]), (277, 3, [1])]
    return tiff([*tags, (278, 4, [1]), (279, 4, [40] * 2000), (273, 4, [8] * 2000)], bytes(40))


def flipped(data, place=-30):
    content = bytearray(data)
    content[place] ^= 0xFF
    return bytes(content)


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200)
NPY = b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (1,)}" + bytes(60)

# Name, bytes or how they are made, and what has to be in the message.
IMAGES = [
    ("empty.jpg", b"", "0 bytes"),
    ("page.jpg", b"<!DOCTYPE html><html><body>Not found</body></html>", "HTML"),
    ("phone.jpg", HEIC, "HEIC"),
    ("array.png", NPY, "NumPy"),
    ("cut.jpg", JPEG[:-40], "cut short"),
    ("flipped.png", flipped(PNG), "damaged"),
    ("bomb.png", bomb_png, "50,000 x 50,000 pixels, allowed are"),
    ("text bomb.png", text_bomb_png, "damaged|not read here"),
    ("endless.png", endless_png, None),  # read: what is behind its pixels is not inflated
    ("huge.jpg", lying_jpeg, "65,535 x 65,535 pixels, allowed are"),
    ("scans.jpg", endless_scans, "scans, allowed are"),
    ("huge.webp", lying_webp, "pixels, allowed are"),
    ("huge.bmp", lying_bmp, "pixels, allowed are|cut short"),
    ("strips.tif", many_strips_tiff, "strips|damaged|cut short|pixels|parts"),
    ("no pixels.png", png(0, 0, b""), "0 x 0"),
    ("heavy.png", lambda: PNG + bytes(21 * 2**20), "MB, allowed are 20 MB"),
    ("colours.png", png(2, 2, bytes(14), colour=5), "damaged"),
    ("rle.bmp", lambda: flipped(encode(GOOD, "BMP"), 30), "compressed BMP|cut short|damaged"),
]

# What an operating system, a terminal or a page could be led astray by; nothing of it may be in a message.
NAMES = [
    "../../../etc/passwd.png",
    "C:\\windows\\system32\\a.png",
    "a\0.png",
    f"gpj.exe{RIGHT_TO_LEFT}gnp.png",
    f"a{HIDDEN}b.png",
    "x" * 300 + ".png",
    "a\r\nSet-Cookie: x.png",
    "\x1b[2J\x1b[31mred.png",
    "\ud800.png",
    "..",
    "<img src=x onerror=alert(1)>.png",
    "=HYPERLINK(1).png",
]


def zipped(members, *, compression=zipfile.ZIP_DEFLATED):
    """A zip of (name or ZipInfo, bytes)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def entry(name, mode=0o100644):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def overlapping():
    """Two entries of the list that are one member."""
    data = zipped([("a.png", PNG), ("b.png", PNG)], compression=zipfile.ZIP_STORED)
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    return data[: second + 42] + struct.pack("<I", 0) + data[second + 46 :]


def understated():
    """A member of 100 MB of which list and header say that it has 100 bytes."""
    data = bytearray(zipped([("a.png", bytes(100 * 2**20))]))
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(signature) + place, 100)
    return bytes(data)


def thousands():
    """6,000 members that are but entries of the list."""
    return zipped((f"{number}.png", b"") for number in range(6000))


LINK = entry("link.png", stat.S_IFLNK | 0o777)
ZIPS = [
    ("cut.zip", lambda: zipped([("a.png", PNG)])[:-10], "damaged or cut short"),
    ("climbs.zip", lambda: zipped([("../../evil.png", PNG)]), "leads out of the zip"),
    ("link.zip", lambda: zipped([(LINK, b"/etc/passwd")]), "a link or a device"),
    ("nested.zip", lambda: zipped([("inner.zip", zipped([("a.png", PNG)]))]), "a zip inside the zip"),
    ("bomb.zip", lambda: zipped([("a.png", bytes(200 * 2**20))]), "more than allowed|zip bomb"),
    ("understated.zip", understated, "damaged inside|zip bomb|more than allowed"),
    ("overlapping.zip", overlapping, "members overlap"),
    ("thousands.zip", thousands, "6,000 members, allowed are 5,000"),
    ("page.zip", lambda: zipped([("a.jpg", b"<html></html>")]), "HTML"),
]
