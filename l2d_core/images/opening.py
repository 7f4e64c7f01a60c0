"""The one door for every image that comes from outside: checked before it is decoded, then upright RGB in 8 bits."""

import hashlib
import io
import re
import unicodedata
import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from jaxtyping import UInt8
from PIL import (
    BmpImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from l2d_core.images.colours import to_rgb
from l2d_core.images.headers import DAMAGED, Header, check_png_pixels, read_header
from l2d_core.images.kinds import ENDINGS, Unreadable, recognise
from l2d_core.images.tiff import exif_orientation
from l2d_core.images.warnings import image_warnings

MAX_FILE_BYTES = 20 * 2**20
MAX_PIXELS = 25_000_000
MAX_SIDE = 20_000
MAX_NAME_LENGTH = 80

# These five readers are all that Pillow may try; imported here, so that it need not look for others.
READERS = (BmpImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
# Pillow warns of odd metadata. The filter is set once for its modules alone: warnings.catch_warnings around a
# decoding would be undone by other threads that decode at the same time.
warnings.filterwarnings("ignore", module=r"PIL\.")


class ImageProblem(ValueError):
    """An image that is refused: its name, safe to show, and in one line the reason and what to do."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True)
class OpenedImage:
    """An image as it will be shown and seen: pixels (H, W, 3), read-only, upright RGB.

    name: safe to show; format: what the content is; original_size: (width, height) as stored, before turning;
    notes: what was converted; warnings: why a person should look at it; digest: SHA-256 of the file's bytes.
    """

    pixels: UInt8[np.ndarray, "H W 3"]
    name: str
    format: str
    original_size: tuple[int, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


def open_image(data: bytes, name: str) -> OpenedImage:
    """Read an image from the bytes of a file, whatever its name claims. Colours are taken as sRGB.

    Bytes, format, sides and pixels are checked before anything is decoded; then all of it is decoded. Of several
    pictures the first is taken. Turned upright as EXIF says. Rules for pixels: see image_colours.
    ImageProblem says what is wrong; nothing else is raised, and nothing is written.
    """
    shown = safe_name(name)
    opened = _try_to_open(data, shown)
    if isinstance(opened, str):
        del data  # else a problem that is kept would keep the file alive, through its traceback
        raise ImageProblem(shown, opened)
    return opened


def safe_name(name: str) -> str:
    """A file name for showing: without folders and invisible characters, composed (NFC), 80 characters at most.

    The middle of a longer name becomes "…". It is text, not markup: a page that renders markup has to escape it.
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name).rstrip("/\\"))[-1]
    # Format characters (Cf) turn the direction of writing or hide; other controls must not reach a terminal.
    kept = [character for character in last if unicodedata.category(character) != "Cf"]
    shown = "".join("\ufffd" if unicodedata.category(one)[0] == "C" else one for one in kept)
    shown = " ".join(shown.split())
    if not shown.strip(". "):
        return "unnamed"
    if len(shown) > MAX_NAME_LENGTH:
        tail = MAX_NAME_LENGTH // 3
        shown = f"{shown[: MAX_NAME_LENGTH - 1 - tail]}…{shown[-tail:]}"
    return shown


def to_model_size(pixels: UInt8[np.ndarray, "H W 3"], height: int, width: int) -> UInt8[np.ndarray, "height width 3"]:
    """The image as a model sees it: the whole of it, shrunk or enlarged to fit into (height, width), in the middle.

    Nothing is cropped and nothing distorted, since lesions are judged by their shape: an image of another aspect
    gets bars in the median colour of its edge. fitted_size gives the part that is picture. Bicubic, as for the
    training images, to which (600 x 450 to 200 x 150) the rule adds no bars.
    """
    inner_height, inner_width = fitted_size(pixels.shape[0], pixels.shape[1], height, width)
    inner = pixels
    if (inner_height, inner_width) != pixels.shape[:2]:
        resized = Image.fromarray(pixels).resize((inner_width, inner_height), Image.Resampling.BICUBIC)
        inner = np.asarray(resized)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    framed = np.empty((height, width, 3), dtype=np.uint8)
    framed[:] = _edge_colour(pixels)
    framed[top : top + inner_height, left : left + inner_width] = inner
    return framed


def fitted_size(image_height: int, image_width: int, height: int, width: int) -> tuple[int, int]:
    """(height, width) that an image takes up in a frame of (height, width), its aspect kept to the nearest pixel."""
    scale = min(height / image_height, width / image_width)
    return max(1, min(height, round(image_height * scale))), max(1, min(width, round(image_width * scale)))


def _try_to_open(data: bytes, shown: str) -> OpenedImage | str:
    """The image, or why it cannot be read."""
    kind = "an image"
    try:
        _check_bytes(data)
        kind = recognise(data)
        header = read_header(data, kind)
        _check_size(header)
        pixels, notes, odd = _decode(data, kind, header)
    except Unreadable as error:
        return str(error)
    except UnidentifiedImageError:
        return f"a variant of {kind} that is not read here, or damaged; save it as plain RGB, 8 bits a channel"
    except MemoryError:
        return "not enough memory to read it now; try again later, or a smaller copy"
    except Exception:  # decoders fail in many ways on a hostile file: all mean that it cannot be read
        return DAMAGED
    return OpenedImage(
        pixels=pixels,
        name=shown,
        format=kind,
        original_size=(header.width, header.height),
        notes=(*_ending_note(shown, kind), *notes),
        warnings=(*odd, *image_warnings(pixels)),
        digest=hashlib.sha256(data).hexdigest(),
    )


def _check_bytes(data: bytes) -> None:
    if len(data) > MAX_FILE_BYTES:
        raise Unreadable(f"{len(data) / 2**20:.1f} MB, allowed are {MAX_FILE_BYTES // 2**20} MB; send a smaller copy")


def _check_size(header: Header) -> None:
    """Refuse sizes that no photograph has, as the header claims them."""
    width, height = header.width, header.height
    if width < 1 or height < 1:
        raise Unreadable(f"its size is {width} x {height} pixels; export it anew")
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        limits = f"{MAX_PIXELS / 1e6:.0f} million pixels and {MAX_SIDE:,} on a side"
        raise Unreadable(f"{width:,} x {height:,} pixels, allowed are {limits}; send a smaller copy")


def _decode(data: bytes, kind: str, header: Header) -> tuple[np.ndarray, list[str], list[str]]:
    """Pixels, notes and warnings of an image whose header is known."""
    if kind == "PNG":
        check_png_pixels(data)
    with Image.open(io.BytesIO(data), formats=(kind,)) as image:
        sizes = {(header.width, header.height)}
        if kind == "TIFF" and header.orientation > 4:
            sizes.add((header.height, header.width))
        if image.size not in sizes:
            raise Unreadable(DAMAGED)
        frames = _frames_note(image, kind)
        image.load()
        turned = header.orientation if kind == "TIFF" else exif_orientation(_bytes(image.info.get("exif")))
        pixels, notes, odd = to_rgb(image, header)
        profile = _profile_note(_bytes(image.info.get("icc_profile")))
    if turned != 1:
        # Pillow turns a TIFF itself while loading it.
        pixels = pixels if kind == "TIFF" else turn_upright(pixels, turned)
        notes.append("turned upright, as its EXIF data say")
    pixels = np.ascontiguousarray(pixels)
    pixels.setflags(write=False)
    return pixels, [*frames, *notes, *profile], odd


def turn_upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Pixels (H, W, 3) turned and mirrored from EXIF's orientation, 1 to 8, to upright."""
    if orientation >= 5:
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _frames_note(image: Image.Image, kind: str) -> list[str]:
    """A note where the file holds several pictures; a TIFF's are not counted, which would mean to read them all."""
    if not getattr(image, "is_animated", False):
        return []
    of = "several" if kind == "TIFF" else f"{getattr(image, 'n_frames', 'several')}"
    return [f"the first of {of} pictures in the file"]


def _profile_note(profile: bytes) -> list[str]:
    """A note on a colour profile other than sRGB. Ignored as for the training images; no parser of profiles runs."""
    plain = profile.replace(b"\0", b"")  # names are UTF-16 in some versions
    if not plain or b"sRGB" in plain:
        return []
    return ["its colour profile was ignored: colours are taken as sRGB"]


def _ending_note(name: str, kind: str) -> list[str]:
    ending = PurePosixPath(name).suffix.lower()
    if not ending or ending in ENDINGS[kind]:
        return []
    return [f"its name ends in {ending}, its content is {kind}"]


def _edge_colour(pixels: np.ndarray) -> np.ndarray:
    """The median colour (3,) of an image's outermost pixels."""
    edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return np.median(edges, axis=0).round().astype(np.uint8)


def _bytes(value: object) -> bytes:
    """Metadata that are bytes; nothing where a hostile file made them something else."""
    return value if isinstance(value, bytes) else b""
