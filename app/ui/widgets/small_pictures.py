"""Small pictures of files, cropped to the shape of a thumbnail or fitted into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtCore import QSize

from app.errors import StyleForgeError
from app.sources.video_decoder import VideoReader
from utils.images.conversion import orientation_of, to_rgb, upright
from utils.images.moving import likely_kind
from utils.images.opening import opened
from utils.text import printable
from utils.translation.texts import tr

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A small picture of a picture or film, and the size of the original in pixels.

    `seconds` is the duration of a film, 0 for a picture.
    """

    pixels: Pixels
    width: int
    height: int
    seconds: float = 0.0


def read_preview(path: Path, size: QSize) -> Preview:
    """Read a picture as `read_reduced` does, or the first frame of a film.

    Raises:
        StyleForgeError: If a film cannot be read.
        ImageError: If another file is not a picture.
        OSError: If the file cannot be read.
    """
    if likely_kind(path) != "film":
        return _picture(path, size)
    reader = VideoReader(path)
    try:
        pixels = None if reader.grab() is None else reader.decode()
    finally:
        reader.close()
    if pixels is None:
        raise StyleForgeError(
            tr("'{file}' has no frame that can be shown", file=printable(path.name))
        )
    height, width = pixels.shape[:2]
    return Preview(pixels, width, height, reader.duration)


def read_reduced(path: Path, size: QSize) -> Pixels:
    """Read a picture upright, reduced while it is decoded but large enough for `size`.

    Raises:
        ImageError: If the file is not a picture.
        OSError: If the file cannot be read.
    """
    return _picture(path, size).pixels


def _picture(path: Path, size: QSize) -> Preview:
    longest = 2 * size.width()  # enough for either orientation
    with opened(path) as image:
        width, height = image.size
        image.draft("RGB", (longest, longest))  # decodes JPEG at a reduced size
        orientation = orientation_of(image)
        image.thumbnail((longest, longest), Image.Resampling.BILINEAR)
        pixels = np.ascontiguousarray(upright(to_rgb(image), orientation))
    turned = orientation >= 5  # EXIF's orientations that exchange rows and columns
    return Preview(pixels, height, width) if turned else Preview(pixels, width, height)


def cropped(pixels: Pixels, size: QSize) -> Pixels:
    """Scale a picture to cover `size`, and crop the rest."""
    (height, width), wide, high = pixels.shape[:2], size.width(), size.height()
    scale = max(wide / width, high / height)
    whole = max(wide, round(width * scale)), max(high, round(height * scale))
    image = Image.fromarray(pixels).resize(whole, Image.Resampling.BILINEAR)
    left, top = (whole[0] - wide) // 2, (whole[1] - high) // 2
    return np.asarray(image.crop((left, top, left + wide, top + high)))


def fitted(pixels: Pixels, size: QSize) -> Pixels:
    """Reduce a picture to fit into `size`; a smaller one stays as it is."""
    height, width = pixels.shape[:2]
    scale = min(size.width() / width, size.height() / height)
    if scale >= 1:
        return pixels
    whole = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(pixels).resize(whole, Image.Resampling.BILINEAR))
