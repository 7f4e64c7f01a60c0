"""Conversion of pixels of any mode to 8-bit RGB: one rule for each, with a note of what was done."""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageCms

from l2d_core.images.headers import Header
from l2d_core.images.kinds import Unreadable

Converted = tuple[np.ndarray, list[str], list[str]]  # pixels (H, W, 3) uint8, notes, warnings

_WITH_ALPHA = {"RGBA", "LA", "PA", "La", "RGBa"}
_GREY = {"1", "L", "LA", "La"}
_BAND = 256
_INKS = {"CMYK": "CMYK", "YCbCr": "YCbCr", "LAB": "Lab"}


def to_rgb(image: Image.Image, header: Header) -> Converted:
    """Pixels (H, W, 3) of a loaded image, with notes on the conversion and warnings.

    16 bits: the upper 8 are kept, v // 256 (12 bits: v // 16). Floats in 0..1: 255 v, rounded. Other floats and 32-bit
    integers have no defined white: the darkest value becomes 0 and the brightest 255, with a warning.
    Transparency: over white. CMYK and Lab: by Pillow's formulas, without profiles. Grey: equal R, G and B.
    """
    if image.mode.startswith(("I", "F")):
        return _deep_grey(image, header)
    notes = [f"{header.bits} bits a channel scaled to 8"] if header.bits > 8 else []
    if image.mode in _GREY:
        notes.append("grey turned into RGB" if image.mode != "1" else "black and white turned into RGB")
    if image.mode in ("P", "PA"):
        notes.append("palette turned into RGB")
    if image.mode in _INKS:
        notes.append(f"{_INKS[image.mode]} turned into RGB")
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        pixels, is_see_through = _over_white(image, header)
        if is_see_through:
            notes.append("transparency laid over white")
        return pixels, notes, []
    if image.mode == "LAB":
        return _by_bands(image, _lab_to_rgb), notes, []
    return _by_bands(image, lambda band: band.convert("RGB")), notes, []


def _by_bands(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> np.ndarray:
    """Pixels (H, W, 3), converted in bands of rows, since an intermediate copy would take 4 bytes per pixel."""
    width, height = image.size
    pixels = np.empty((height, width, 3), dtype=np.uint8)
    for top in range(0, height, _BAND):
        band = image.crop((0, top, width, min(top + _BAND, height)))
        pixels[top : top + _BAND] = np.asarray(convert(band))
    return pixels


def _deep_grey(image: Image.Image, header: Header) -> Converted:
    """Grey of more than 8 bits."""
    values = np.array(image)
    if image.mode.startswith("I;16") or image.format == "PNG":  # Pillow before 11 stores a PNG's 16 bits in 32
        scaled, notes, odd = _upper_bits(values, image, header)
    else:
        scaled, notes, odd = _scale_to_range(values)
    if header.zero_is_white:
        scaled = 255 - scaled
    return np.repeat(scaled[:, :, None], 3, axis=2), [*notes, "grey turned into RGB"], odd


def _upper_bits(values: np.ndarray, image: Image.Image, header: Header) -> Converted:
    """The upper 8 of 9 to 16 bits; the value that a PNG declares transparent becomes white."""
    scaled = (values.astype(np.uint16) >> (header.bits - 8)).astype(np.uint8)
    notes = [f"{header.bits} bits a channel scaled to 8"]
    transparent = image.info.get("transparency")
    if isinstance(transparent, int) and (values == transparent).any():
        scaled[values == transparent] = 255
        notes.append("transparency laid over white")
    return scaled, notes, []


def _scale_to_range(values: np.ndarray) -> Converted:
    """Scale floats in 0..1 by 255; map other values from the darkest and brightest to 0 and 255."""
    if not np.isfinite(values).all():
        raise Unreadable("some of its values are not finite (NaN or infinity); export it as an 8-bit image")
    low, high = float(values.min()), float(values.max())
    kind = "float" if values.dtype.kind == "f" else "32-bit"
    if kind == "float" and low >= 0 and high <= 1:
        np.rint(np.multiply(values, 255, out=values), out=values)
        return values.astype(np.uint8), ["float values scaled: 0 is black, 1 is white"], []
    scaled = np.empty(values.shape, dtype=np.uint8)
    for rows in range(0, len(values), _BAND):  # in bands, since float64 of a whole image takes 8 times its size
        band = values[rows : rows + _BAND].astype(np.float64)
        scaled[rows : rows + _BAND] = np.rint((band - low) / (high - low or 1.0) * 255)
    note = f"{kind} values scaled: {low:.6g} is black, {high:.6g} is white"
    return scaled, [note], ["its contrast is not the original: its values had no agreed white"]


def _over_white(image: Image.Image, header: Header) -> tuple[np.ndarray, bool]:
    """Pixels over white, c a/255 + 255 (1 - a/255), rounded; and whether anything was transparent."""
    transparent = image.info.get("transparency")
    if header.bits > 8 and isinstance(transparent, tuple):
        image.info["transparency"] = tuple(value >> 8 for value in transparent)
    see_through = []

    def lay(band: Image.Image) -> Image.Image:
        band = band.convert("LA") if band.mode == "La" else band
        colours = band.convert("RGBA")
        alpha = colours.getchannel("A")
        see_through.append(alpha.getextrema() != (255, 255))
        ground = Image.new("RGB", band.size, "white")
        ground.paste(colours.convert("RGB"), mask=alpha)
        return ground

    pixels = _by_bands(image, lay)
    return pixels, any(see_through)


def _lab_to_rgb(image: Image.Image) -> Image.Image:
    """Lab (D50) to sRGB, between two built-in profiles; none comes from the file."""
    lab, rgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(image, lab, rgb, outputMode="RGB")
    if converted is None:
        raise Unreadable("its Lab colours cannot be turned into RGB; export it as RGB")
    return converted
