"""Images in a zip: each member in order, as bytes or as a named problem, unpacked one at a time in memory."""

import io
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import splitext

from l2d_core.images.opening import MAX_FILE_BYTES, ImageProblem, OpenedImage, open_image, safe_name

MAX_ARCHIVE_BYTES = 200 * 2**20
MAX_MEMBERS = 5_000
MAX_TOTAL_BYTES = 2**30  # of all members, unpacked
# Photographs hardly shrink in a zip, but small drawings may, so the ratio is limited only from FREE_BYTES on.
MAX_RATIO = 100
FREE_BYTES = 2**20

_STEP = 1 << 18  # bytes unpacked at once
_LOCAL_HEADER = 30  # the shortest header before a member's data
_ENTRY = b"PK\x01\x02"
_ENCRYPTED, _UTF8 = 0x2041, 0x800  # bits of flag_bits; the first covers three kinds of encryption
_EXTRAS = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)", re.IGNORECASE)


@dataclass(frozen=True)
class ImageArchive:
    """A zip whose directory has been checked; members are unpacked only when they are read.

    name: safe to show; members: (position in the directory, name to show), in the zip's order, with unique names;
    skipped: folders and system files (__MACOSX, ._x, .DS_Store, Thumbs.db), which are not members.
    """

    name: str
    data: bytes
    members: tuple[tuple[int, str], ...]
    skipped: int

    def __len__(self) -> int:
        """The number of members, including those that are problems: the M of "received N of M"."""
        return len(self.members)


def is_archive(data: bytes) -> bool:
    """Whether the bytes begin like a zip."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def open_archive(data: bytes, name: str) -> ImageArchive:
    """Check a zip's directory. ImageProblem where the zip as a whole cannot or must not be read."""
    shown = safe_name(name)
    if len(data) > MAX_ARCHIVE_BYTES:
        size, most = len(data) / 2**20, MAX_ARCHIVE_BYTES // 2**20
        raise ImageProblem(shown, f"{size:.1f} MB, allowed for a zip are {most} MB; send several smaller ones")
    if not is_archive(data):
        raise ImageProblem(shown, "not a zip; send a zip of images, or the images themselves")
    _check_count(data, shown)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
    except UnicodeDecodeError:
        raise ImageProblem(shown, "a name in it is not valid UTF-8; zip the images anew") from None
    except Exception as error:  # zipfile fails in many ways on a malicious directory: all mean that it cannot be read
        reason = "the zip is damaged or cut short (an incomplete download?); copy or download it again"
        raise ImageProblem(shown, reason) from error
    _check_apart(listed, shown)
    kept = [row for row, info in enumerate(listed) if not (info.is_dir() or _EXTRAS.search(_full_name(info)))]
    if not kept:
        raise ImageProblem(shown, "the zip holds no files; zip the images themselves")
    names = _each_once([_shown_name(_full_name(listed[row])) for row in kept])
    return ImageArchive(shown, data, tuple(zip(kept, names, strict=True)), len(listed) - len(kept))


def read_members(archive: ImageArchive) -> Iterator[tuple[str, bytes | ImageProblem]]:
    """Each member's name with its bytes or the reason why it is left out, unpacked one at a time.

    Limits apply to the bytes actually unpacked, whatever the zip claims. Once MAX_TOTAL_BYTES are reached, every
    further member is a problem.
    """
    total = 0
    with zipfile.ZipFile(io.BytesIO(archive.data)) as opened:
        listed = opened.infolist()
        for row, name in archive.members:
            try:
                content = _unpack(opened, listed[row], name, MAX_TOTAL_BYTES - total)
            except ImageProblem as problem:
                yield (
                    name,
                    ImageProblem(name, problem.reason),
                )  # without a traceback, which would keep the zip in memory
            else:
                total += len(content)
                yield name, content


def open_images(archive: ImageArchive) -> Iterator[OpenedImage | ImageProblem]:
    """Each of the len(archive) members as an image or a problem, in order. Names keep folders of the zip."""
    for name, content in read_members(archive):
        if isinstance(content, ImageProblem):
            yield content
            continue
        try:
            image = open_image(content, name)
        except ImageProblem as problem:
            yield ImageProblem(name, problem.reason)
        else:
            yield replace(image, name=name)


def _check_count(data: bytes, shown: str) -> None:
    """Count the directory's entries before any is read, since each takes memory; the zip's own count is not trusted."""
    count = data.count(_ENTRY)
    if count > MAX_MEMBERS:
        raise ImageProblem(shown, f"{count:,} members, allowed are {MAX_MEMBERS:,}; send several smaller zips")


def _check_apart(listed: list[zipfile.ZipInfo], shown: str) -> None:
    """Refuse members that share bytes, by which a small zip unpacks to a huge one; no zip program writes them."""
    end = 0
    for info in sorted(listed, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ImageProblem(shown, "its members overlap, as in a zip bomb; zip the images anew")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size


def _unpack(opened: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, left: int) -> bytes:
    """The bytes of one member, at most `left`. ImageProblem says why not."""
    _check_member(info, name)
    most = min(MAX_FILE_BYTES, max(FREE_BYTES, MAX_RATIO * info.compress_size))
    parts, size = [], 0
    try:
        with opened.open(info) as member:
            while part := member.read(_STEP):
                size += len(part)
                _check_unpacked(size, most, left, name)
                parts.append(part)
    except ImageProblem:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ImageProblem(name, "damaged inside the zip; zip it anew") from None
    except Exception as error:
        raise ImageProblem(name, "cannot be unpacked; zip it anew") from error
    content = b"".join(parts)
    if is_archive(content):
        raise ImageProblem(name, "a zip inside the zip (or an office document), which is not opened; unpack it first")
    return content


def _check_member(info: zipfile.ZipInfo, name: str) -> None:
    """Refuse a member by its entry in the directory."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if _leaves(info):
        raise ImageProblem(name, "its path leads out of the zip; zip the images anew, without such paths")
    if kind not in (0, stat.S_IFREG):
        raise ImageProblem(name, "a link or a device, not a file; zip the image itself")
    if info.flag_bits & _ENCRYPTED:
        raise ImageProblem(name, "encrypted; zip it without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ImageProblem(name, "a compression that is not read here; zip it in the usual way (deflate)")
    if info.file_size > MAX_FILE_BYTES:
        _check_unpacked(info.file_size, MAX_FILE_BYTES, MAX_TOTAL_BYTES, name)


def _check_unpacked(size: int, most: int, left: int, name: str) -> None:
    """Refuse a member as soon as more than allowed has been unpacked."""
    if size > MAX_FILE_BYTES:
        raise ImageProblem(name, f"over {MAX_FILE_BYTES // 2**20} MB unpacked, more than allowed; send a smaller copy")
    if size > most:
        raise ImageProblem(name, f"unpacks to over {MAX_RATIO} times its size, as a zip bomb does; send it unzipped")
    if size > left:
        most_mb = MAX_TOTAL_BYTES // 2**20
        raise ImageProblem(
            name, f"the zip unpacks to over {most_mb:,} MB, more than allowed; send several smaller ones"
        )


def _leaves(info: zipfile.ZipInfo) -> bool:
    """Whether a path is absolute, climbs, names a drive, or has a character that systems interpret differently."""
    path = info.orig_filename
    return bool(re.search(r"^/|^[A-Za-z]:|\\|\0|(^|/)\.\.(/|$)", path))


def _full_name(info: zipfile.ZipInfo) -> str:
    """The path in the zip. Names without the mark of UTF-8 often are UTF-8, since macOS omits it."""
    if info.flag_bits & _UTF8:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _shown_name(path: str) -> str:
    """A path with every part made safe to show, without parts that climb out or are empty."""
    parts = [safe_name(part) for part in re.split(r"[/\\]", path) if part.strip() not in ("", ".", "..")]
    return "/".join(parts[-3:]) or "unnamed"


def _each_once(names: list[str]) -> list[str]:
    """The names, in order, with " (2)" and so on before the ending of repeated ones."""
    taken, counts, once = set(names), Counter(), []
    for name in names:
        counts[name] += 1
        new = name
        while counts[name] > 1 and new in taken:
            stem, ending = splitext(name)
            new = f"{stem} ({counts[name]}){ending}"
            counts[name] += new in taken
        taken.add(new)
        once.append(new)
    return once
