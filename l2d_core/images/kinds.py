"""Recognising files by their first bytes: five formats of images, and others, with advice on what to do."""

import re
from dataclasses import dataclass

# Pillow's names of the accepted formats, with their file endings.
ENDINGS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
}
ACCEPTED = "JPEG, PNG, WebP, BMP or TIFF"

_EXPORT = "export it as JPEG or PNG"
_TEXT_HEAD = 2048  # bytes examined to see whether a file is text
_BMP_HEADERS = {12, 16, 40, 52, 56, 64, 108, 124}
_HEIF_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}


class Unreadable(ValueError):
    """Why a file is not read as an image, in words that can follow its name."""


@dataclass(frozen=True)
class _Other:
    """A kind of file that is not accepted: its bytes at an offset, what it is, and what to do."""

    offset: int
    magic: bytes
    what: str
    advice: str


# GIF is refused although Pillow reads it: with at most 256 colours, a photograph has lost its own.
_OTHERS = (
    _Other(0, b"GIF8", "a GIF, which has lost colours (256 at most)", "send the original as JPEG or PNG"),
    _Other(128, b"DICM", "DICOM", "export the picture from the viewer as JPEG or PNG, without the patient's data"),
    _Other(0, b"%PDF-", "a PDF", "export the picture in it as JPEG or PNG"),
    _Other(0, b"%!PS", "PostScript", _EXPORT),
    _Other(0, b"PK\x03\x04", "a zip (or an office document)", "unpack it and send the images"),
    _Other(0, b"PK\x05\x06", "an empty zip", "send the images"),
    _Other(0, b"\x1f\x8b", "gzip", "unpack it and send the images"),
    _Other(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and send the images"),
    _Other(0, b"Rar!\x1a\x07", "a RAR archive", "unpack it and send the images"),
    _Other(257, b"ustar", "a tar archive", "unpack it and send the images"),
    _Other(0, b"8BPS", "a Photoshop document", _EXPORT),
    _Other(0, b"\x00\x00\x00\x0cjP  ", "JPEG 2000", _EXPORT),
    _Other(0, b"\xff\x4f\xff\x51", "JPEG 2000", _EXPORT),
    _Other(0, b"\xff\x0a", "JPEG XL", _EXPORT),
    _Other(0, b"\x00\x00\x00\x0cJXL ", "JPEG XL", _EXPORT),
    _Other(0, b"\x00\x00\x01\x00", "an icon", _EXPORT),
    _Other(0, b"II\x2b\x00", "BigTIFF", "export it as plain TIFF, JPEG or PNG"),
    _Other(0, b"MM\x00\x2b", "BigTIFF", "export it as plain TIFF, JPEG or PNG"),
    _Other(0, b"\x93NUMPY", "a NumPy array", _EXPORT),
    _Other(0, b"\x89HDF", "HDF5", _EXPORT),
    _Other(0, b"\x7fELF", "a program", "send an image"),
    _Other(0, b"MZ", "a program", "send an image"),
)
# Tried in this order on the beginning of a text file.
_TEXTS = (
    (r"<svg[\s>]", "SVG, a drawing without pixels", _EXPORT),
    (r"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]", "HTML", "the download gave a web page; get the image itself"),
    (r"^\s*<\?xml", "XML", "send an image"),
    (r"^version https://git-lfs", "a Git LFS pointer", "fetch the image that it stands for (git lfs pull)"),
)


def recognise(data: bytes) -> str:
    """The format of an image, a key of ENDINGS, by its first bytes alone.

    Unreadable says what else the file is, as far as can be determined, and what to do about it.
    """
    if not data:
        raise Unreadable("not an image: 0 bytes; copy or download the file again")
    accepted = _accepted(data)
    if accepted:
        return accepted
    what, advice = _what_else(data)
    raise Unreadable(f"not an image that is read here: this is {what}; {advice}")


def _accepted(data: bytes) -> str:
    """The accepted format whose signature the bytes have, or ""."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    if data.startswith((b"II\x2a\x00", b"MM\x00\x2a")):
        return "TIFF"
    # Two letters are weak evidence, so the size of the header is checked too.
    if data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADERS:
        return "BMP"
    return ""


def _what_else(data: bytes) -> tuple[str, str]:
    """What a file in another format is, and what to do."""
    if data[4:8] == b"ftyp":
        return _phone_format(data[8:12])
    for other in _OTHERS:
        if data.startswith(other.magic, other.offset):
            return other.what, other.advice
    if not data.strip(b"\0"):
        return f"{len(data):,} bytes that are all zero", "copy or download the file again"
    text = _as_text(data)
    for pattern, what, advice in _TEXTS:
        if re.search(pattern, text, re.IGNORECASE):
            return what, advice
    if text:
        return "text", f"send the image itself, as {ACCEPTED}"
    return "an unknown kind of file", f"send {ACCEPTED}"


def _phone_format(brand: bytes) -> tuple[str, str]:
    """What a file in an MPEG-4 container is, by its brand."""
    if brand in _HEIF_BRANDS:
        return "HEIC, the format of many phones", f"{_EXPORT} (renaming does not help)"
    if brand in {b"avif", b"avis"}:
        return "AVIF", f"{_EXPORT} (renaming does not help)"
    return "a film or sound (MPEG-4)", "send a picture taken from it as JPEG or PNG"


def _as_text(data: bytes) -> str:
    """The beginning of a file that is text, or "" where it is not."""
    head = data[:_TEXT_HEAD]
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    # A character cut off at the end is dropped; any other invalid byte gives a replacement character.
    text = head.decode(encoding, "replace").removesuffix("\ufffd")
    readable = sum(character.isprintable() or character in "\t\r\n\f" for character in text)
    return text if text and readable > 0.95 * len(text) and "\ufffd" not in text else ""
