"""Reads pictures of 16 bits per channel, of which Pillow reads 8 where they have colors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.images.conversion import bands_of

FORMATS = ("PNG", "TIFF")
ROWS = 256  # that are converted at once
_APART = 1  # of 255, by which the two readers round differently


def read_deep(
    path: Path, image: Image.Image, bits: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint16] | None] | None:
    """Read the pixels of a picture of 16 bits per channel, in the colors of its file and without
    applying its orientation.

    Args:
        path: The file.
        image: The same, loaded by Pillow, with which the result is compared.
        bits: Per channel in the file.

    Returns:
        [H, W, 3], and the alpha channel [H, W] where the file has one; None where the file has
        another number of bits, another format, or colors that OpenCV reads otherwise than Pillow.
    """
    if bits != 16 or image.format not in FORMATS:
        return None
    if image.mode.startswith("I;16"):
        bands = [np.asarray(image.crop(box)) for box in bands_of(image)]
        gray = np.concatenate(bands).astype(np.uint16)  # in the byte order of this machine
        return np.repeat(gray[..., None], 3, axis=2), None
    if image.mode not in ("RGB", "RGBA"):
        return None
    from utils.opencv import cv2  # without which 8 bits are read, in training too

    try:
        read = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:  # too large for it, or of a kind that only Pillow reads
        return None
    if read is None or read.dtype != np.uint16 or read.ndim != 3:
        return None
    if read.shape[:2] != (image.height, image.width) or read.shape[2] not in (3, 4):
        return None
    channels = np.asarray(read, np.uint16)
    pixels = np.ascontiguousarray(channels[..., 2::-1])
    if not _agrees(pixels, image):
        return None
    transparent = channels.shape[2] == 4
    return pixels, np.ascontiguousarray(channels[..., 3]) if transparent else None


def over_white(pixels: NDArray[np.uint16], alpha: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Composite pixels [H, W, 3] over white."""
    out = np.empty_like(pixels)
    for top in range(0, len(pixels), ROWS):
        band = slice(top, top + ROWS)
        share = alpha[band, :, None].astype(np.float32) / 65535
        out[band] = np.rint(65535 - (65535 - pixels[band].astype(np.float32)) * share)
    return out


def _agrees(pixels: NDArray[np.uint16], image: Image.Image) -> bool:
    """Whether the pixels are those that Pillow read, so that both took the file's colors alike."""
    for box in bands_of(image):
        eight = np.asarray(image.crop(box))[..., :3].astype(int)
        if np.abs((pixels[box[1] : box[3]] >> 8) - eight).max() > _APART:
            return False
    return True
