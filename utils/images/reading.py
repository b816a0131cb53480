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
    """A picture as the program works on it, and what its file has beyond that.

    `pixels` is [H, W, 3] uint8 RGB, laid over white where the picture is transparent; `alpha`
    is [H, W] uint8, None where every pixel is opaque; `bits` is how many bits a channel has in
    the file, 8 where it has fewer.
    """

    pixels: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None = None
    bits: int = 8

    @property
    def loss(self) -> str:
        """What is not kept of the file, in words; empty where all of it is."""
        return f"its {self.bits} bits per channel became 8" if self.bits > 8 else ""


def read_pixels(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """The pixels of `read_picture`."""
    return read_picture(path).pixels


def read_picture(path: str | os.PathLike[str]) -> Picture:
    """Read a picture upright and in sRGB.

    Reads whatever Pillow reads, whatever the file is called, and HEIC where pillow-heif is
    installed: 16-bit and float pictures are scaled to 0-255, the first frame stands for an
    animation, color profiles are applied. Transparency is laid over white: a cut-out is made to
    be seen on paper, and over black its soft edges would get a dark rim that a style network
    turns into an outline. Raises ImageError.
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
