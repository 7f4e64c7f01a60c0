"""Hostile images and zips of images, made when asked for: what each is called, and what is said of it."""

import io
import stat
import struct
import zipfile
import zlib

import numpy as np
from made_images import chunk, encode, grey_tiff, picture, png, tiff

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
AVIF = b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(200)
GIF = encode(GOOD, "GIF")
NPY = b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (1,)}" + bytes(60)
NOISE = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8).tobytes()
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

# Name, bytes or how they are made, and what has to be in the message.
IMAGES = [
    ("empty.jpg", b"", "0 bytes"),
    ("page.jpg", b"<!DOCTYPE html><html><body>Not found</body></html>", "HTML"),
    ("phone.jpg", HEIC, "HEIC"),
    ("renamed to png.png", AVIF, "AVIF"),
    ("scan.dcm.jpg", bytes(128) + b"DICM" + bytes(400), "DICOM"),
    ("drawing.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "SVG"),
    ("entities.svg", b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "XML"),
    ("paper.jpg", b"%PDF-1.7\n%...", "PDF"),
    ("program.png", b"\x7fELF\x02\x01" + bytes(300), "a program"),
    ("array.png", NPY, "NumPy"),
    ("zip.jpg", b"PK\x03\x04" + bytes(20), "zip"),
    ("animated.gif", GIF, "GIF"),
    ("zeros.jpg", bytes(4096), "all zero"),
    ("noise.jpg", NOISE, "unknown kind"),
    ("text.png", b"lorem ipsum " * 50, "text"),
    ("pointer.jpg", LFS, "Git LFS"),
    ("big.tif", b"II\x2b\0\x08\0\0\0" + bytes(100), "BigTIFF"),
    ("cut.jpg", JPEG[:-40], "cut short"),
    ("cut.png", PNG[: len(PNG) // 2], "cut short"),
    ("cut.webp", encode(GOOD, "WEBP")[:-20], "cut short"),
    ("cut.bmp", encode(GOOD, "BMP")[:-20], "cut short"),
    ("cut.tif", grey_tiff(GOOD[..., 0].copy(), bits=8)[:300], "cut short"),
    ("header alone.jpg", b"\xff\xd8\xff", "cut short"),
    ("flipped.png", flipped(PNG), "damaged"),
    ("bomb.png", bomb_png, "50,000 x 50,000 pixels, allowed are"),
    ("text bomb.png", text_bomb_png, "damaged|not read here"),
    ("endless.png", endless_png, None),  # read: what is behind its pixels is not inflated
    ("huge.jpg", lying_jpeg, "65,535 x 65,535 pixels, allowed are"),
    ("scans.jpg", endless_scans, "scans, allowed are"),
    ("huge.webp", lying_webp, "pixels, allowed are"),
    ("huge.bmp", lying_bmp, "pixels, allowed are|cut short"),
    ("strips.tif", many_strips_tiff, "strips|damaged|cut short|pixels|parts"),
    ("not a number.tif", lambda: grey_tiff(np.full((40, 40), np.nan, np.float32), bits=32, sample_format=3), "finite"),
    ("no pixels.png", png(0, 0, b""), "0 x 0"),
    ("heavy.png", lambda: PNG + bytes(21 * 2**20), "MB, allowed are 20 MB"),
    ("colours.png", png(2, 2, bytes(14), colour=5), "damaged"),
    ("rle.bmp", lambda: flipped(encode(GOOD, "BMP"), 30), "compressed BMP|cut short|damaged"),
]

# What an operating system, a terminal or a page could be led astray by; nothing of it may be in a message.
NAMES = [
    "../../../etc/passwd.png",
    "C:\\windows\\system32\\a.png",
    "/etc/shadow.png",
    "a\0.png",
    f"gpj.exe{RIGHT_TO_LEFT}gnp.png",
    f"a{HIDDEN}b.png",
    "x" * 300 + ".png",
    "a\r\nSet-Cookie: x.png",
    "\x1b[2J\x1b[31mred.png",
    "\ud800.png",
    "..",
    " . ",
    "CON.png",
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


def encrypted():
    data = bytearray(zipped([("a.png", PNG)]))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + place] |= 1
    return bytes(data)


def understated():
    """A member of 100 MB of which list and header say that it has 100 bytes."""
    data = bytearray(zipped([("a.png", bytes(100 * 2**20))]))
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(signature) + place, 100)
    return bytes(data)


def wrong_sum():
    data = zipped([("a.png", PNG)], compression=zipfile.ZIP_STORED)
    return flipped(data, data.index(PNG) + 200)


def false_utf8():
    data = zipped([("ü.png", PNG)])
    return data.replace("ü".encode(), b"\xff\xfe")


def thousands():
    """6,000 members that are but entries of the list."""
    return zipped((f"{number}.png", b"") for number in range(6000))


def with_nul():
    return zipped([("a_.png", PNG)]).replace(b"a_.png", b"a\0.png")


LINK, DEVICE = entry("link.png", stat.S_IFLNK | 0o777), entry("device.png", stat.S_IFCHR | 0o666)
ZIPS = [
    ("no zip.zip", b"hello", "not a zip"),
    ("empty.zip", lambda: zipped([]), "holds no files"),
    ("cut.zip", lambda: zipped([("a.png", PNG)])[:-10], "damaged or cut short"),
    ("extras.zip", lambda: zipped([("__MACOSX/._a.png", b"x"), (".DS_Store", b"x")]), "holds no files"),
    ("climbs.zip", lambda: zipped([("../../evil.png", PNG)]), "leads out of the zip"),
    ("absolute.zip", lambda: zipped([("/evil.png", PNG)]), "leads out of the zip"),
    ("drive.zip", lambda: zipped([("C:\\evil.png", PNG)]), "leads out of the zip"),
    ("climbs in the middle.zip", lambda: zipped([("a/../../evil.png", PNG)]), "leads out of the zip"),
    ("nul.zip", with_nul, "leads out of the zip"),
    ("link.zip", lambda: zipped([(LINK, b"/etc/passwd")]), "a link or a device"),
    ("device.zip", lambda: zipped([(DEVICE, b"")]), "a link or a device"),
    ("nested.zip", lambda: zipped([("inner.zip", zipped([("a.png", PNG)]))]), "a zip inside the zip"),
    ("locked.zip", encrypted, "encrypted"),
    ("lzma.zip", lambda: zipped([("a.png", PNG)], compression=zipfile.ZIP_LZMA), "a compression that is not read"),
    ("bomb.zip", lambda: zipped([("a.png", bytes(200 * 2**20))]), "more than allowed|zip bomb"),
    ("small bomb.zip", lambda: zipped([("a.png", bytes(10 * 2**20))]), "zip bomb"),
    ("understated.zip", understated, "damaged inside|zip bomb|more than allowed"),
    ("overlapping.zip", overlapping, "members overlap"),
    ("thousands.zip", thousands, "6,000 members, allowed are 5,000"),
    ("wrong sum.zip", wrong_sum, "damaged inside the zip"),
    ("false utf-8.zip", false_utf8, "not valid UTF-8"),
    ("page.zip", lambda: zipped([("a.jpg", b"<html></html>")]), "HTML"),
]
