"""Reads picture files into arrays, upright and in sRGB."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.images.conversion import alpha_of, bits_per_channel, orientation_of, to_rgb, upright
from utils.images.deep_files import over_white, read_deep
from utils.images.gain_maps import has_gain_map
from utils.images.metadata import kept_exif
from utils.images.opening import opened
from utils.images.origin import NO_ORIGIN, Origin
from utils.images.profiles import ColorProfile, color_profile
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

D = TypeVar("D", bound=np.uint8 | np.uint16)

BITS_LOST = mark("its {bits} bits per channel became 8")
GAIN_MAP_LOST = mark("its HDR gain map was dropped")
EXIF_LOST = mark("its damaged EXIF data were left out")


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture that was read from a file.

    Attributes:
        pixels: [H, W, 3] uint8, RGB, over white where the picture is transparent.
        alpha: [H, W] uint8; None if every pixel is opaque.
        bits: Bits per channel in the file, at least 8.
        deep: [H, W, 3] uint16, the same as `pixels` with 16 bits per channel, where the file is a
            PNG or a TIFF that has them.
        origin: What its results keep.
        losses: What else was lost by reading the file, as clauses of this module.
    """

    pixels: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None = None
    bits: int = 8
    deep: NDArray[np.uint16] | None = None
    origin: Origin = NO_ORIGIN
    losses: tuple[str, ...] = ()

    @property
    def loss(self) -> str:
        """What was lost by reading the file, as clauses; "" if nothing was."""
        bits = tr(BITS_LOST, bits=self.bits) if self.bits > 8 and self.deep is None else ""
        return clauses((bits, *map(tr, self.losses)))


def read_pixels(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read the pixels of a picture, [H, W, 3] uint8, RGB, as `read_picture` does."""
    return read_picture(path).pixels


def picture_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Read the size of a picture from the head of its file, without decoding it.

    Args:
        path: A file as for `read_picture`.

    Returns:
        (width, height) in pixels, upright where the head says how the picture is to be turned.

    Raises:
        ImageError: The head cannot be read.
    """
    with opened(path) as image:
        # To look for EXIF data that come after the pixels, Pillow would decode these.
        orientation = orientation_of(image) if "exif" in image.info else 1
        stored = np.broadcast_to(np.uint8(0), (image.height, image.width))  # takes no memory
        height, width = upright(stored, orientation).shape
        return width, height


def read_picture(path: str | os.PathLike[str]) -> Picture:
    """Read a picture upright and in sRGB.

    16-bit and float pictures are scaled to 0-255, color profiles are applied, gain maps are left
    out, and of an animation the first frame is read. Transparent pictures are composited over
    white: over black, soft edges would get a dark rim, which a style network turns into an outline.

    Args:
        path: A file of any format that Pillow reads, whatever its name, or HEIC if pillow-heif is
            installed.

    Raises:
        ImageError: The picture cannot be read.
    """
    path = Path(path)
    with opened(path) as image:
        bits, losses = bits_per_channel(image), list[str]()
        if has_gain_map(image):
            losses.append(GAIN_MAP_LOST)
        image.load()
        orientation = orientation_of(image)
        alpha, profile = alpha_of(image), _profile_of(image)
        read = read_deep(path, image, bits)
        stored = to_rgb(image) if profile is None else to_rgb(image, convert=False)
        deep: NDArray[np.uint16] | None = None
        if read is not None and (profile is None or profile.deep):
            deep, transparency = read
            deep = deep if transparency is None else over_white(deep, transparency)
        native = None if profile is None else (stored if deep is None else deep)
        if profile is not None:
            stored = profile.to_srgb(stored)
            deep = None if deep is None else profile.to_srgb(deep)
        pixels = _turned(stored, orientation)
        exif = kept_exif(image, (pixels.shape[1], pixels.shape[0]))
        if exif is None:
            losses.append(EXIF_LOST)
        return Picture(
            pixels,
            None if alpha is None else _turned(alpha, orientation),
            bits,
            None if deep is None else _turned(deep, orientation),
            Origin(
                exif or b"",
                profile,
                bool(image.info.get("icc_profile")),
                None if native is None else _turned(native, orientation),
            ),
            tuple(losses),
        )


def _profile_of(image: Image.Image) -> ColorProfile | None:
    """The profile of a loaded picture whose pixels are RGB."""
    data = image.info.get("icc_profile")
    return color_profile(data) if data and image.mode in ("RGB", "RGBA") else None


def _turned(pixels: NDArray[D], orientation: int) -> NDArray[D]:
    return np.array(upright(pixels, orientation), order="C")
