"""Telling by its first bytes what a file is, and what to do where an image or a table was wanted: one list for all."""

import re
from dataclasses import dataclass

_HEAD = 2048  # bytes examined to see whether a file is text
_EXPORT = "export it as JPEG or PNG"
_UNPACK, _UNPACK_TABLE = "unpack it and send the images", "unpack it and choose the file that it contains"
_NO_TABLE = "a table is needed here, as CSV or Parquet"
_AS_CSV = "save it as 'CSV UTF-8'"
_SEND = "send an image"
_SCORES = 'or build Scores.from_arrays(...) and save("mine.npz")'
_PICKLED = f"it could run a program and is never opened; write its arrays to a CSV file, {_SCORES}"
_JSON_TABLE = 'convert it: pandas.read_json("FILE"{options}).to_csv("mine.csv", index=False)'
_ZIP_PART = 2**16
_HEIF_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what it is, in words, and what to do where an image, or a table, was wanted."""

    what: str
    image_advice: str = _EXPORT
    table_advice: str = _NO_TABLE


LFS_POINTER = FileKind(
    "a Git LFS pointer",
    "fetch the image that it stands for (git lfs pull)",
    "fetch the file that it stands for (git lfs pull)",
)
UNKNOWN = FileKind("an unknown kind of file", "send JPEG, PNG, WebP, BMP or TIFF")
TEXT = FileKind("text", "send the image itself, as JPEG, PNG, WebP, BMP or TIFF")
_PICKLE = FileKind("a Python pickle", _SEND, _PICKLED)
_PROGRAM = FileKind("a program", _SEND)
ZIP = FileKind("a zip (or an office document)", _UNPACK, _UNPACK_TABLE)
NPZ = FileKind("arrays of NumPy (.npz)", _EXPORT, f"write its arrays to a CSV file, {_SCORES}")
_ZIPS = (
    (b"xl/", FileKind("an Excel workbook", _SEND, _AS_CSV)),
    (b"content.xml", FileKind("an OpenDocument file", _SEND, _AS_CSV)),
    (b"data.pkl", FileKind("a file of PyTorch (.pt)", _SEND, _PICKLED)),
    (b".npy", NPZ),
)
# Offset, first bytes, kind. GIF is refused as an image although Pillow reads it: with at most 256 colours, a
# photograph has lost its own.
_SIGNATURES = (
    (
        0,
        b"GIF8",
        FileKind("a GIF, which has lost colours (256 at most)", "send the original as JPEG or PNG"),
    ),
    (
        128,
        b"DICM",
        FileKind("DICOM", "export the picture from the viewer as JPEG or PNG, without the patient's data"),
    ),
    (0, b"%PDF-", FileKind("a PDF", "export the picture in it as JPEG or PNG")),
    (0, b"%!PS", FileKind("PostScript")),
    (0, b"PK\x05\x06", FileKind("an empty zip", "send the images")),
    (0, b"\x1f\x8b", FileKind("gzip", _UNPACK, _UNPACK_TABLE)),
    (0, b"BZh", FileKind("bzip2", _UNPACK, _UNPACK_TABLE)),
    (0, b"\xfd7zXZ\x00", FileKind("xz", _UNPACK, _UNPACK_TABLE)),
    (0, b"\x28\xb5\x2f\xfd", FileKind("Zstandard", _UNPACK, _UNPACK_TABLE)),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind("a 7z archive", _UNPACK, _UNPACK_TABLE)),
    (0, b"Rar!\x1a\x07", FileKind("a RAR archive", _UNPACK, _UNPACK_TABLE)),
    (257, b"ustar", FileKind("a tar archive", _UNPACK, _UNPACK_TABLE)),
    (0, b"8BPS", FileKind("a Photoshop document")),
    (0, b"\x00\x00\x00\x0cjP  ", FileKind("JPEG 2000")),
    (0, b"\xff\x4f\xff\x51", FileKind("JPEG 2000")),
    (0, b"\xff\x0a", FileKind("JPEG XL")),
    (0, b"\x00\x00\x00\x0cJXL ", FileKind("JPEG XL")),
    (0, b"\x00\x00\x01\x00", FileKind("an icon")),
    (0, b"II\x2b\x00", FileKind("BigTIFF", "export it as plain TIFF, JPEG or PNG")),
    (0, b"MM\x00\x2b", FileKind("BigTIFF", "export it as plain TIFF, JPEG or PNG")),
    (0, b"\xff\xd8\xff", FileKind("a JPEG image")),
    (0, b"\x89PNG\r\n\x1a\n", FileKind("a PNG image")),
    (
        0,
        b"\x93NUMPY",
        FileKind("a NumPy array", _EXPORT, f"one array is no table: write all columns to a CSV, {_SCORES}"),
    ),
    (0, b"\x89HDF", FileKind("HDF5", _EXPORT, f"write its columns to a CSV file, {_SCORES}")),
    (0, b"MATLAB 5.0", FileKind("a MATLAB file", _EXPORT, "write it with MATLAB's writetable as CSV")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind("an old Office document, such as .xls", _SEND, _AS_CSV)),
    (0, b"SQLite format 3\x00", FileKind("an SQLite database", _SEND, "export the table as CSV")),
    (0, b"ARROW1", FileKind("an Arrow or Feather file", _SEND, "write it with to_parquet or to_csv")),
    (0, b"FEA1", FileKind("a Feather file", _SEND, "write it with to_parquet or to_csv")),
    (0, b"ORC", FileKind("an ORC file", _SEND, "write it with to_parquet or to_csv")),
    (0, b"PAR1", FileKind("a Parquet file", "read its images and save each as JPEG or PNG")),
    *((0, b"\x80" + bytes([version]), _PICKLE) for version in range(2, 6)),
    (0, b"\x7fELF", _PROGRAM),
    (0, b"MZ", _PROGRAM),
)
# Tried in this order on the beginning of a text file.
_TEXTS = (
    (r"<svg[\s>]", FileKind("SVG, a drawing without pixels")),
    (
        r"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]",
        FileKind(
            "HTML",
            "the download gave a web page; get the image itself",
            "the download gave a web page; get the file itself",
        ),
    ),
    (r"^\s*<\?xml", FileKind("XML", _SEND)),
    (r"^version https://git-lfs", LFS_POINTER),
)
# The beginning of JSON without blanks, tried in this order.
_JSON = (
    (
        r'\{"columns":\[.*"data":\[|\{"data":\[.*"columns":\[',
        'a table in JSON with "columns" and "data", as Weights & Biases writes it',
        'convert it: t = json.load(open("FILE")); pandas.DataFrame(t["data"], columns=t["columns"]).to_csv("mine.csv", '
        "index=False)",
    ),
    (r"\{[^\n]*\}\r?\n\{", "JSON lines", _JSON_TABLE.format(options=", lines=True")),
    (r'\[\{"', "a list of records in JSON", _JSON_TABLE.format(options="")),
    (r'\{"[^"]*":[\[{]', "a table in JSON, one entry per column", _JSON_TABLE.format(options="")),
    (r"\[|\{", "JSON", _JSON_TABLE.format(options="")),
)


def describe_file(data: bytes) -> FileKind:
    """The kind of a file, from its bytes alone; TEXT for text of no special kind, UNKNOWN where nothing fits."""
    if data[4:8] == b"ftyp":
        return _phone_format(data[8:12])
    if data.startswith(b"PK\x03\x04"):
        return _zip_kind(data)
    for offset, magic, kind in _SIGNATURES:
        if data.startswith(magic, offset):
            return kind
    if not data.strip(b"\0"):
        return FileKind(f"{len(data):,} bytes that are all zero", *["copy or download the file again"] * 2)
    if data[8:10] == b'{"' and int.from_bytes(data[:8], "little") < len(data):
        return FileKind("a file of weights (safetensors)", _SEND, "predictions are needed here, not weights")
    text = as_text(data)
    found = next((kind for pattern, kind in _TEXTS if re.search(pattern, text, re.IGNORECASE)), None)
    return found or (TEXT if text else UNKNOWN)


def describe_json(data: bytes) -> FileKind:
    """The kind of a text that begins with a bracket or a brace."""
    head = data[: _HEAD * 8].decode("utf-8-sig", "replace").strip()
    plain = re.sub(r"[ \t]+", "", head)
    for pattern, what, advice in _JSON:
        if re.match(pattern, plain if "\\n" in pattern else re.sub(r"\s+", "", plain), re.DOTALL):
            return FileKind(what, _SEND, advice)
    return TEXT


def as_text(data: bytes) -> str:
    """The beginning of a file that is text, or "" where it is not."""
    head = data[:_HEAD]
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    # A character cut off at the end is dropped; any other invalid byte gives a replacement character.
    text = head.decode(encoding, "replace").removesuffix("\ufffd")
    readable = sum(character.isprintable() or character in "\t\r\n\f" for character in text)
    return text if text and readable > 0.95 * len(text) and "\ufffd" not in text else ""


def _phone_format(brand: bytes) -> FileKind:
    """What a file in an MPEG-4 container is, by its brand."""
    if brand in _HEIF_BRANDS:
        return FileKind("HEIC, the format of many phones", f"{_EXPORT} (renaming does not help)")
    if brand in {b"avif", b"avis"}:
        return FileKind("AVIF", f"{_EXPORT} (renaming does not help)")
    return FileKind("a film or sound (MPEG-4)", "send a picture taken from it as JPEG or PNG")


def _zip_kind(data: bytes) -> FileKind:
    """What a zip is, by the names of its members, which are at its beginning and its end."""
    names = data[:_ZIP_PART] + data[-_ZIP_PART:]
    return next((kind for name, kind in _ZIPS if name in names), ZIP)
