"""The five formats of images that are read, recognised by their first bytes."""

from l2d_core.common.file_kinds import describe_file

# Pillow's names of the accepted formats, with their file endings.
ENDINGS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
}
_BMP_HEADERS = {12, 16, 40, 52, 56, 64, 108, 124}


class Unreadable(ValueError):
    """Why a file is not read as an image, in words that can follow its name."""


def recognise(data: bytes) -> str:
    """The format of an image, a key of ENDINGS, by its first bytes alone.

    Unreadable says what else the file is, as far as can be determined, and what to do about it.
    """
    if not data:
        raise Unreadable("not an image: 0 bytes; copy or download the file again")
    accepted = _accepted(data)
    if accepted:
        return accepted
    kind = describe_file(data)
    raise Unreadable(f"not an image that is read here: this is {kind.what}; {kind.image_advice}")


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
