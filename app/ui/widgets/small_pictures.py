"""Small pictures of files, cropped to the shape of a thumbnail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtCore import QSize

from utils.images.conversion import orientation_of, to_rgb, upright
from utils.images.opening import opened

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


def read_reduced(path: Path, size: QSize) -> Pixels:
    """Read a picture upright, reduced while it is decoded but large enough for `size`.

    Raises:
        ImageError: If the file is not a picture.
        OSError: If the file cannot be read.
    """
    longest = 2 * size.width()  # enough for either orientation
    with opened(path) as image:
        image.draft("RGB", (longest, longest))  # decodes JPEG at a reduced size
        orientation = orientation_of(image)
        image.thumbnail((longest, longest), Image.Resampling.BILINEAR)
        return np.ascontiguousarray(upright(to_rgb(image), orientation))


def cropped(pixels: Pixels, size: QSize) -> Pixels:
    """Scale a picture to cover `size`, and crop the rest."""
    (height, width), wide, high = pixels.shape[:2], size.width(), size.height()
    scale = max(wide / width, high / height)
    whole = max(wide, round(width * scale)), max(high, round(height * scale))
    image = Image.fromarray(pixels).resize(whole, Image.Resampling.BILINEAR)
    left, top = (whole[0] - wide) // 2, (whole[1] - high) // 2
    return np.asarray(image.crop((left, top, left + wide, top + high)))
