"""Converts loaded Pillow images of any mode to 8-bit arrays in sRGB."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from utils.images.opening import MALFORMED

D = TypeVar("D", bound=np.uint8 | np.uint16)
BAND = 1_000_000  # pixels per call of Pillow, which takes a few milliseconds
# By EXIF orientation: whether to transpose rows and columns, and then which axes to flip.
_UPRIGHT: Mapping[int, tuple[bool, tuple[int, ...]]] = {
    2: (False, (1,)),
    3: (False, (0, 1)),
    4: (False, (0,)),
    5: (True, ()),
    6: (True, (1,)),
    7: (True, (0, 1)),
    8: (True, (0,)),
}
_ORIENTATION = 0x0112


def to_rgb(image: Image.Image, *, convert: bool = True) -> NDArray[np.uint8]:
    """Convert a loaded picture to sRGB over white, without applying its orientation.

    Args:
        image: Of any mode. 16-bit and float pictures are scaled to 0-255.
        convert: Whether to apply the color profile; otherwise RGB stays in its colors.

    Returns:
        [H, W, 3] uint8.
    """
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        gray = _eight_bits(_array(image))
        return np.repeat(gray[..., None], 3, axis=2)
    profile = image.info.get("icc_profile") if convert else None
    if image.has_transparency_data:
        image = _in_bands(image, _on_paper)
    return _array(_in_srgb(image, profile)).astype(np.uint8, copy=False)


def alpha_of(image: Image.Image) -> NDArray[np.uint8] | None:
    """Get the alpha channel of a loaded picture, without applying its orientation.

    Returns:
        [H, W] uint8; None if every pixel is opaque.
    """
    if not image.has_transparency_data or image.mode.startswith("I"):
        return None
    bands = (image.crop(box).convert("RGBA").getchannel("A") for box in bands_of(image))
    alpha = np.concatenate([np.asarray(band) for band in bands])
    return None if alpha.min() == 255 else alpha


def bits_per_channel(image: Image.Image) -> int:
    """The bits per channel in the file, at least 8.

    Args:
        image: Not loaded yet: loading reduces color pictures of 16 bits to 8.
    """
    arguments = [tile[3] for tile in getattr(image, "tile", ())]
    if image.mode.startswith("I;16") or any(";16" in str(argument) for argument in arguments):
        return 16
    if image.format == "PPM" and any(a[1] > 255 for a in arguments if isinstance(a, tuple)):
        return 16
    if image.mode in ("I", "F"):
        return 32
    return max(8, int(image.info.get("bit_depth", 8)))  # of HEIC


def orientation_of(image: Image.Image) -> int:
    """The EXIF orientation, 1 to 8; 1 (upright) if there is none or the EXIF data are damaged."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except MALFORMED:
        return 1


def upright(pixels: NDArray[D], orientation: int) -> NDArray[D]:
    """Apply an EXIF orientation to pixels [H, W, ...]; gives a view."""
    transpose, flips = _UPRIGHT.get(orientation, (False, ()))
    return (
        np.flip(pixels.swapaxes(0, 1) if transpose else pixels, flips)
        if (transpose or flips)
        else pixels
    )


def _on_paper(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image)
    return paper.convert("RGB")


def bands_of(image: Image.Image) -> Iterator[tuple[int, int, int, int]]:
    """Divide an image into boxes of about BAND pixels. Pillow holds the interpreter's lock during
    a call, which would block the GUI thread for long with a large image."""
    rows = max(1, BAND // max(1, image.width))
    for top in range(0, image.height, rows):
        yield 0, top, image.width, min(top + rows, image.height)


def _in_bands(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """Convert an image to RGB, band by band."""
    done = Image.new("RGB", image.size)
    for box in bands_of(image):
        done.paste(convert(image.crop(box)), box)
    return done


def _array(image: Image.Image) -> NDArray[np.generic]:
    """Copy the pixels of an image, band by band."""
    return np.concatenate([np.asarray(image.crop(box)) for box in bands_of(image)])


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode == "P":
        image = _in_bands(image, lambda band: band.convert("RGB"))
    srgb = ImageCms.createProfile("sRGB")
    if profile and image.mode in ("RGB", "CMYK", "L"):
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, srgb, outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):  # a damaged profile is ignored
            converted = None
        if converted is not None:
            return converted
    if image.mode == "LAB":
        lab = ImageCms.createProfile("LAB")
        converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
        assert converted is not None  # None is returned only for conversions in place
        return converted
    return image if image.mode == "RGB" else _in_bands(image, lambda band: band.convert("RGB"))


def _eight_bits(gray: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Scale to 8 bits: 16-bit integers from their full range, wider integers and floats from the
    range of their values."""
    if gray.dtype == np.uint16:
        return ((gray.astype(np.uint32) + 128) // 257).astype(np.uint8)
    with np.errstate(invalid="ignore"):  # signaling NaNs are replaced like others
        values = np.nan_to_num(gray.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1 and gray.dtype.kind == "f":
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    elif low >= 0 and high <= 65535 and gray.dtype.kind != "f":
        low, high = 0.0, 65535.0
    return np.rint((values - low) * (255.0 / ((high - low) or 1.0))).astype(np.uint8)
