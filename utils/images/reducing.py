"""Smaller copies of pictures that were read, with everything that their results preserve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utils.images.metadata import resized_exif
from utils.images.reading import Picture
from utils.opencv import cv2


def reduced(picture: Picture, long_side: int) -> Picture:
    """Return a picture whose long side has at most `long_side` pixels; smaller ones stay as read.

    Alpha, 16-bit values, the colors of the profile and the size in the EXIF data follow.
    """
    height, width = picture.pixels.shape[:2]
    if max(width, height) <= long_side:
        return picture
    scale = long_side / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    origin = picture.origin
    native = None if origin.native is None else _scaled(origin.native, size)
    return replace(
        picture,
        pixels=_scaled(picture.pixels, size),
        alpha=None if picture.alpha is None else _scaled(picture.alpha, size),
        deep=None if picture.deep is None else _scaled(picture.deep, size),
        origin=replace(origin, exif=resized_exif(origin.exif, size), native=native),
    )


def _scaled(pixels: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), pixels.dtype)
