"""Converts loaded Pillow images of any mode to 8-bit arrays in sRGB."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from utils.images.meaning import meaning_of
from utils.images.opening import MALFORMED
from utils.images.profiles import ColorProfile, GrayProfile, color_profile, gray_profile

D = TypeVar("D", bound=np.uint8 | np.uint16)
ROWS = 256  # converted at once
_CONVERTED = ("CMYK", "LAB", "YCbCr", "HSV")  # modes that are always converted to sRGB
BAND = 1_000_000  # pixels per call of Pillow, which takes a few milliseconds
# By EXIF orientation: whether to transpose rows and columns, then the axes to flip.
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
    """Convert a loaded picture to sRGB over white, [H, W, 3] uint8, without its orientation.

    16-bit and float pictures are scaled to 0-255. Without `convert`, RGB and gray stay in the
    colors of their profile.
    """
    profile = profile_of(image) if convert else None
    if image.mode.startswith("I;16"):
        deep, clear = deep_gray(image)
        deep = deep if clear is None else over_white(deep, clear)
        stored = eight_bits(np.repeat(deep, 3, axis=2))
    elif image.mode in ("I", "F"):
        return np.repeat(_scaled(_array(image))[..., None], 3, axis=2)
    else:
        image = _divided(image)
        if image.has_transparency_data:
            image = _in_bands(image, _on_paper)
        stored = _array(_to_srgb_model(image)).astype(np.uint8, copy=False)
    return stored if profile is None else profile.to_srgb(stored)


def alpha_of(image: Image.Image) -> NDArray[np.uint8] | None:
    """Return the alpha, [H, W] uint8, without its orientation; None if every pixel is opaque."""
    image = _divided(image)
    if image.mode.startswith("I;16"):
        _, clear = deep_gray(image)
        alpha = None if clear is None else eight_bits(clear)
    elif not image.has_transparency_data or image.mode.startswith("I"):
        return None
    else:
        bands = (image.crop(box).convert("RGBA").getchannel("A") for box in bands_of(image))
        alpha = np.concatenate([np.asarray(band) for band in bands])
    return None if alpha is None or alpha.min() == 255 else alpha


def profile_of(image: Image.Image) -> ColorProfile | GrayProfile | None:
    """Return the profile of `to_rgb`'s result without conversion.

    None for sRGB, and for color models whose profile `to_rgb` always applies.
    """
    data = meaning_of(image).profile
    if data is None or image.mode in (*_CONVERTED, "I", "F"):
        return None
    return color_profile(data) or gray_profile(data)


def deep_gray(image: Image.Image) -> tuple[NDArray[np.uint16], NDArray[np.uint16] | None]:
    """Read a 16-bit gray picture, [H, W, 1], where 65535 is white.

    The second result is the alpha channel [H, W] if the file names a transparent gray.
    """
    meaning = meaning_of(image)
    gray = _array(image).astype(np.uint16)  # in the byte order of this machine
    clear = None
    if meaning.key is not None and len(meaning.key) == 1:
        clear = np.where(gray == meaning.key[0], np.uint16(0), np.uint16(65535))
    if meaning.most not in (0, 65535):
        wide = np.minimum(gray, meaning.most).astype(np.uint32) * 65535
        gray = ((wide + meaning.most // 2) // meaning.most).astype(np.uint16)
    return (65535 - gray if meaning.inverted else gray)[..., None], clear


def eight_bits(deep: NDArray[np.uint16]) -> NDArray[np.uint8]:
    out = np.empty(deep.shape, np.uint8)
    for top in range(0, len(deep), ROWS):
        out[top : top + ROWS] = (deep[top : top + ROWS].astype(np.uint32) + 128) // 257
    return out


def over_white(pixels: NDArray[np.uint16], alpha: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Composite pixels [H, W, C] over white."""
    out = np.empty_like(pixels)
    for top in range(0, len(pixels), ROWS):
        band = slice(top, top + ROWS)
        share = alpha[band, :, None].astype(np.float32) / 65535
        out[band] = np.rint(65535 - (65535 - pixels[band].astype(np.float32)) * share)
    return out


def orientation_of(image: Image.Image) -> int:
    """Return the EXIF orientation, 1 to 8; 1 (upright) if the data are missing or damaged."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except MALFORMED:
        return 1


def upright(pixels: NDArray[D], orientation: int) -> NDArray[D]:
    """Apply an EXIF orientation to pixels [H, W, ...]; return a view."""
    transpose, flips = _UPRIGHT.get(orientation, (False, ()))
    return (
        np.flip(pixels.swapaxes(0, 1) if transpose else pixels, flips)
        if (transpose or flips)
        else pixels
    )


def _divided(image: Image.Image) -> Image.Image:
    """Divide premultiplied gray by its alpha, since Pillow converts it to no other mode."""
    return image.convert("LA") if image.mode == "La" else image


def _on_paper(image: Image.Image) -> Image.Image:
    image = image.convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image)
    return paper.convert("RGB")


def bands_of(image: Image.Image) -> Iterator[tuple[int, int, int, int]]:
    """Yield boxes of about BAND pixels: a Pillow call holds the GIL and blocks the GUI thread."""
    rows = max(1, BAND // max(1, image.width))
    for top in range(0, image.height, rows):
        yield 0, top, image.width, min(top + rows, image.height)


def _in_bands(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    done = Image.new("RGB", image.size)
    for box in bands_of(image):
        done.paste(convert(image.crop(box)), box)
    return done


def _array(image: Image.Image) -> NDArray[np.generic]:
    return np.concatenate([np.asarray(image.crop(box)) for box in bands_of(image)])


def _to_srgb_model(image: Image.Image) -> Image.Image:
    """Convert an image to RGB, and from another color model to sRGB by its profile."""
    srgb = ImageCms.createProfile("sRGB")
    profile = meaning_of(image).profile
    if profile and image.mode == "CMYK":
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
        assert converted is not None  # only conversions in place return None
        return converted
    return image if image.mode == "RGB" else _in_bands(image, lambda band: band.convert("RGB"))


def _scaled(gray: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Scale wide integers and floats to 8 bits, from the range of their values."""
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
