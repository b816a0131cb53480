"""Reads picture files into arrays, upright and in sRGB."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.images.conversion import (
    alpha_of,
    eight_bits,
    orientation_of,
    over_white,
    profile_of,
    to_rgb,
    upright,
)
from utils.images.deep_files import read_deep
from utils.images.gain_maps import has_gain_map
from utils.images.meaning import meaning_of
from utils.images.metadata import kept_exif
from utils.images.opening import opened
from utils.images.origin import NO_ORIGIN, Origin
from utils.images.profiles import ColorProfile
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

D = TypeVar("D", bound=np.uint8 | np.uint16)

BITS_LOST = mark("its {bits} bits per channel became 8")
HDR_AS_STORED = mark("it is HDR: its colors are painted as they are stored")
GAIN_MAP_LOST = mark("its HDR gain map was dropped")
EXIF_LOST = mark("its damaged EXIF data were left out")


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture that was read from a file.

    Attributes:
        pixels: [H, W, 3] uint8, RGB, over white where the picture is transparent.
        alpha: [H, W] uint8; None if every pixel is opaque.
        bits: Bits per channel in the file, at least 8.
        deep: [H, W, 3] uint16, `pixels` with 16 bits per channel, if a PNG or TIFF has them.
        origin: The data that its results preserve.
        losses: Other losses in reading the file, as clauses of this module.
    """

    pixels: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None = None
    bits: int = 8
    deep: NDArray[np.uint16] | None = None
    origin: Origin = NO_ORIGIN
    losses: tuple[str, ...] = ()

    @property
    def loss(self) -> str:
        """The losses in reading the file, as clauses; "" if nothing was lost."""
        bits = tr(BITS_LOST, bits=self.bits) if self.bits > 8 and self.deep is None else ""
        return clauses((bits, *map(tr, self.losses)))


def read_pixels(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read the pixels of a picture, [H, W, 3] uint8, RGB, as `read_picture` does."""
    return read_picture(path).pixels


def picture_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Read (width, height) in pixels from a file's head, upright if it states the orientation.

    Raises:
        ImageError: If the head cannot be read.
    """
    with opened(path) as image:
        # To look for EXIF data after the pixels, Pillow would decode the pixels.
        orientation = orientation_of(image) if "exif" in image.info else 1
        stored = np.broadcast_to(np.uint8(0), (image.height, image.width))  # allocates no memory
        height, width = upright(stored, orientation).shape
        return width, height


def read_picture(path: str | os.PathLike[str]) -> Picture:
    """Read a picture upright and in sRGB.

    16-bit and float pictures are scaled to 0-255, color profiles are applied, gain maps are
    ignored, and an animation yields its first frame. Transparent pictures are composited over
    white: over black, soft edges would get a dark rim, which a style network turns into an outline.

    The file may have any format that Pillow reads, whatever its name, or be HEIC if pillow-heif is
    installed.

    Raises:
        ImageError: If the picture cannot be read.
    """
    path = Path(path)
    with opened(path) as image:
        losses = [GAIN_MAP_LOST] if has_gain_map(image) else []
        image.load()
        meaning, orientation, profile = meaning_of(image), orientation_of(image), profile_of(image)
        if meaning.hdr:
            losses.append(HDR_AS_STORED)
        stored, deep, alpha = _numbers(path, image)
        if profile is not None and not profile.deep:
            deep = None
        native = None
        if profile is not None:
            native = stored if deep is None else deep
            stored = profile.to_srgb(stored)
            deep = None if deep is None else profile.to_srgb(deep)
        kept = profile if isinstance(profile, ColorProfile) else None
        pixels = _turned(stored, orientation)
        exif = kept_exif(image, (pixels.shape[1], pixels.shape[0]))
        if exif is None:
            losses.append(EXIF_LOST)
        return Picture(
            pixels,
            None if alpha is None else _turned(alpha, orientation),
            meaning.bits,
            None if deep is None else _turned(deep, orientation),
            Origin(
                exif or b"",
                kept,
                meaning.profile is not None,
                None if native is None or kept is None else _turned(native, orientation),
            ),
            tuple(losses),
        )


def _numbers(
    path: Path, image: Image.Image
) -> tuple[NDArray[np.uint8], NDArray[np.uint16] | None, NDArray[np.uint8] | None]:
    """Read a loaded picture in its own colors over white: 8 bits, 16 bits if any, alpha if any.

    With 16 bits, the 8 bits are computed from them, so that both agree.
    """
    read = read_deep(path, image)
    if read is None:
        return to_rgb(image, convert=False), None, alpha_of(image)
    deep, clear = read
    if clear is None or clear.min() == 65535:
        return eight_bits(deep), deep, None
    deep = over_white(deep, clear)
    alpha = eight_bits(clear)
    return eight_bits(deep), deep, None if alpha.min() == 255 else alpha


def _turned(pixels: NDArray[D], orientation: int) -> NDArray[D]:
    return np.array(upright(pixels, orientation), order="C")
