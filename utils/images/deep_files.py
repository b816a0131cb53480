"""Reads pictures of 16 bits per channel; Pillow reads only 8 bits of colors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.images.conversion import ROWS, bands_of, deep_gray
from utils.images.meaning import Meaning, meaning_of

FORMATS = ("PNG", "TIFF")
_APART = 2  # of 255: the difference between the roundings of both readers


def read_deep(
    path: Path, image: Image.Image
) -> tuple[NDArray[np.uint16], NDArray[np.uint16] | None] | None:
    """Read the pixels of a picture of 16 bits per channel.

    They stay in the colors of the file, without its orientation. `image` is the same file loaded by
    Pillow, for comparison with the result.

    Returns:
        [H, W, 3], and the alpha channel [H, W] if the file has one. None if the file has another
        number of bits or another format, or if OpenCV and Pillow read different colors.
    """
    meaning = meaning_of(image)
    if meaning.bits != 16 or image.format not in FORMATS:
        return None
    if image.mode.startswith("I;16"):
        gray, clear = deep_gray(image)
        return np.repeat(gray, 3, axis=2), clear
    channels = _channels(path, image) if image.mode in ("RGB", "RGBA") else None
    if channels is None:
        return None
    pixels = np.ascontiguousarray(channels[..., 2::-1])
    if not _agrees(pixels, image.convert("RGBa") if meaning.premultiplied else image):
        return None
    alpha = _alpha(channels, image, meaning)
    if alpha is not None and meaning.premultiplied:
        _divide(pixels, alpha)
    return pixels, alpha


def _channels(path: Path, image: Image.Image) -> NDArray[np.uint16] | None:
    """Read the channels [H, W, 3 or 4] with OpenCV; return None if it cannot."""
    from utils.opencv import cv2  # without it, 8 bits are read, in training too

    try:
        read = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:  # too large for it, or of a kind that only Pillow reads
        return None
    if read is None or read.dtype != np.uint16 or read.ndim != 3:
        return None
    if read.shape[:2] != (image.height, image.width) or read.shape[2] not in (3, 4):
        return None
    return np.asarray(read, np.uint16)


def _alpha(
    channels: NDArray[np.uint16], image: Image.Image, meaning: Meaning
) -> NDArray[np.uint16] | None:
    """Return the alpha channel: a fourth channel counts only if Pillow calls it alpha."""
    if meaning.key is not None and len(meaning.key) == 3:
        clear = (channels[..., 2::-1] == np.array(meaning.key)).all(axis=-1)
        return np.where(clear, np.uint16(0), np.uint16(65535))
    if image.mode != "RGBA" or channels.shape[2] != 4:
        return None
    return np.ascontiguousarray(channels[..., 3])


def _divide(pixels: NDArray[np.uint16], alpha: NDArray[np.uint16]) -> None:
    """Divide premultiplied colors by their alpha, in place."""
    for top in range(0, len(pixels), ROWS):
        band = slice(top, top + ROWS)
        share = np.maximum(alpha[band, :, None], 1).astype(np.float32) / 65535
        pixels[band] = np.rint(np.minimum(pixels[band] / share, 65535))


def _agrees(pixels: NDArray[np.uint16], image: Image.Image) -> bool:
    """Return whether Pillow read the same pixels, so that both read the file's colors alike."""
    for box in bands_of(image):
        eight = np.asarray(image.crop(box))[..., :3].astype(int)
        if np.abs((pixels[box[1] : box[3]] >> 8) - eight).max() > _APART:
            return False
    return True
