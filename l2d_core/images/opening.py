"""Opening any image from outside: checked before it is decoded, then converted to upright 8-bit RGB."""

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

from l2d_core.common.names import seen_letters
from l2d_core.images.colours import to_rgb
from l2d_core.images.headers import DAMAGED, Header, check_png_pixels, read_header
from l2d_core.images.jpeg_damage import require_undamaged
from l2d_core.images.kinds import ENDINGS, Unreadable, recognise
from l2d_core.images.tiff import exif_orientation

MAX_FILE_BYTES = 20 * 2**20
MAX_PIXELS = 25_000_000
MAX_SIDE = 20_000
MAX_NAME_LENGTH = 80
# Beyond these an image gets a warning.
MIN_SIDE = 32
MAX_ASPECT = 3.0
BLANK_DEVIATION = 2.0  # of 255 steps
NOISE_CORRELATION = 0.3  # neighbouring pixels of photographs correlate by more than 0.9
GREY_SPREAD = 2  # between the channels of a pixel, as lossy compression leaves it
_SAMPLED_SIDE = 256  # pixels per side that are examined

# Pillow may use only these five readers; they are imported here so that it does not look for others.
READERS = (BmpImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
# Pillow warns about odd metadata. The filter is set once, for its modules alone: other threads that decode at the same
# time would undo a warnings.catch_warnings around the decoding.
warnings.filterwarnings("ignore", module=r"PIL\.")


class ImageProblem(ValueError):
    """An image that is refused: its name, safe to show, and in one line the reason and what to do."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True)
class OpenedImage:
    """An opened image: pixels (H, W, 3), read-only, upright RGB.

    name: safe to show; format: of the content; original_size: (width, height) as stored, before turning;
    notes: what was converted; warnings: why a person should check it; digest: SHA-256 of the file's bytes.
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

    Bytes, format, sides and number of pixels are checked before anything is decoded. Of several pictures the first is
    used. It is turned upright by its EXIF data; for the conversion of pixels see `colours`.
    ImageProblem says what is wrong; nothing else is raised, and nothing is written.
    """
    shown = safe_name(name)
    opened = _try_to_open(data, shown)
    if isinstance(opened, str):
        del data  # otherwise the traceback of a stored problem would keep the file in memory
        raise ImageProblem(shown, opened)
    return opened


def safe_name(name: str) -> str:
    """A file name for showing: without folders, with `seen_letters` only, 80 characters at most.

    The middle of a longer name becomes "…". It is plain text, which a page that renders markup has to escape.
    """
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    # Controls must not reach a terminal.
    shown = "".join("\ufffd" if unicodedata.category(one)[0] == "C" else one for one in seen_letters(last))
    shown = " ".join(shown.split())
    if not shown.strip(". "):
        return "unnamed"
    if len(shown) > MAX_NAME_LENGTH:
        tail = MAX_NAME_LENGTH // 3
        shown = f"{shown[: MAX_NAME_LENGTH - 1 - tail]}…{shown[-tail:]}"
    return shown


def to_model_size(pixels: UInt8[np.ndarray, "H W 3"], height: int, width: int) -> UInt8[np.ndarray, "height width 3"]:
    """The whole image, resized to fit into (height, width) and centred, as a model takes it.

    Nothing is cropped or distorted, since lesions are judged by their shape: an image of another aspect ratio gets
    bars in the median colour of its edge. `fitted_size` gives the size of the picture within. Bicubic, as for the
    training images, which (600 x 450 to 200 x 150) get no bars.
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
    """The size, (height, width), of an image fitted into a frame, its aspect ratio kept to the nearest pixel."""
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
    except Exception:  # decoders fail in many ways on a malicious file: all mean that it cannot be read
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
    """Refuse a header with a size that no photograph has."""
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
    if kind == "JPEG":
        require_undamaged(data)
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
        # Pillow turns a TIFF itself when it loads it.
        pixels = pixels if kind == "TIFF" else turn_upright(pixels, turned)
        notes.append("turned upright, as its EXIF data say")
    pixels = np.ascontiguousarray(pixels)
    pixels.setflags(write=False)
    return pixels, [*frames, *notes, *profile], odd


def turn_upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Pixels (H, W, 3) turned and mirrored from an EXIF orientation, 1 to 8, to upright."""
    if orientation >= 5:
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _frames_note(image: Image.Image, kind: str) -> list[str]:
    """A note where the file has several pictures; those of a TIFF are not counted, which would read them all."""
    if not getattr(image, "is_animated", False):
        return []
    of = "several" if kind == "TIFF" else f"{getattr(image, 'n_frames', 'several')}"
    return [f"the first of {of} pictures in the file"]


def _profile_note(profile: bytes) -> list[str]:
    """A note on a colour profile other than sRGB, which is ignored as for the training images, and never parsed."""
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
    """The median colour, (3,), of an image's outermost pixels."""
    edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return np.median(edges, axis=0).round().astype(np.uint8)


def _bytes(value: object) -> bytes:
    """The value if it is bytes; b"" where a malicious file made it something else."""
    return value if isinstance(value, bytes) else b""


def image_warnings(pixels: UInt8[np.ndarray, "H W 3"]) -> tuple[str, ...]:
    """Signs that an image differs from training images, one line each: tiny, odd aspect, blank, grey, noise."""
    height, width = pixels.shape[:2]
    found = []
    if min(height, width) < MIN_SIDE:
        found.append(f"tiny: {width} x {height} pixels, under {MIN_SIDE} on a side")
    if max(height, width) > MAX_ASPECT * min(height, width):
        found.append(f"odd aspect: {width} x {height} pixels, over {MAX_ASPECT:g} to 1")
    sample = pixels[:: -(-height // _SAMPLED_SIDE), :: -(-width // _SAMPLED_SIDE)].astype(np.int16)
    if sample.std(axis=(0, 1)).max() < BLANK_DEVIATION:
        found.append("blank: nearly all pixels are alike")
    if max(np.abs(sample[:, :, a] - sample[:, :, b]).max() for a, b in ((0, 1), (1, 2), (2, 0))) <= GREY_SPREAD:
        found.append("grey: no colour information")
    if _is_noise(pixels):
        found.append("noise: neighbouring pixels are unrelated")
    return tuple(found)


def _is_noise(pixels: np.ndarray) -> bool:
    """Whether pixels in the middle hardly correlate with their right and lower neighbours."""
    height, width = pixels.shape[:2]
    if min(height, width) < MIN_SIDE:
        return False
    top, left = max(0, height - _SAMPLED_SIDE) // 2, max(0, width - _SAMPLED_SIDE) // 2
    middle = pixels[top : top + _SAMPLED_SIDE, left : left + _SAMPLED_SIDE].mean(axis=2)
    return max(_correlation(middle[:, 1:], middle[:, :-1]), _correlation(middle[1:], middle[:-1])) < NOISE_CORRELATION


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's correlation of two arrays; 1 where one of them is constant."""
    a, b = one - one.mean(), other - other.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size > 1e-9 else 1.0
