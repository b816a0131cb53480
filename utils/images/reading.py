"""Reads picture files into arrays, upright and in sRGB."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from utils.images.conversion import alpha_of, bits_per_channel, orientation_of, to_rgb, upright
from utils.images.opening import opened


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture that was read from a file.

    Attributes:
        pixels: [H, W, 3] uint8, RGB, over white where the picture is transparent.
        alpha: [H, W] uint8; None if every pixel is opaque.
        bits: Bits per channel in the file, at least 8.
    """

    pixels: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None = None
    bits: int = 8

    @property
    def loss(self) -> str:
        """What was lost by reading the file, as a clause; "" if nothing was."""
        return f"its {self.bits} bits per channel became 8" if self.bits > 8 else ""


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

    16-bit and float pictures are scaled to 0-255, color profiles are applied, and of an animation
    the first frame is read. Transparent pictures are composited over white: over black, soft
    edges would get a dark rim, which a style network turns into an outline.

    Args:
        path: A file of any format that Pillow reads, whatever its name, or HEIC if pillow-heif is
            installed.

    Raises:
        ImageError: The picture cannot be read.
    """
    path = Path(path)
    with opened(path) as image:
        bits = bits_per_channel(image)
        image.load()
        orientation = orientation_of(image)
        alpha = alpha_of(image)
        pixels = np.array(upright(to_rgb(image), orientation), order="C")
        turned = None if alpha is None else np.array(upright(alpha, orientation), order="C")
        return Picture(pixels, turned, bits)
