"""Writes TIFF files of 8 or 16 bits per channel, with lossless compression."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from utils.translation.texts import tr

ROWS = 64  # per strip
LEVEL = 4  # of zlib
MOST_BYTES = 2**32 - 2**20  # reachable by 32-bit offsets

_DEFLATE, _RGB, _DIFFERENCES, _UNASSOCIATED, _UNDEFINED = 8, 2, 2, 2, 7
_PROFILE = 34675
_SUB_DIRECTORIES = (0x8769, 0x8825)  # of EXIF and of GPS


def write_tiff(
    path: Path,
    pixels: NDArray[np.uint8 | np.uint16],
    exif: Image.Exif,
    profile: bytes | None,
) -> None:
    """Write [H, W, 3] RGB, or [H, W, 4] with alpha; not atomically.

    The tags of `exif` become the file's.

    Raises:
        OSError: If the file cannot be written, or would be larger than TIFF allows.
    """
    height, width, channels = pixels.shape
    strips = [_strip(pixels[top : top + ROWS]) for top in range(0, height, ROWS)]
    sizes = [len(strip) for strip in strips]
    if sum(sizes) > MOST_BYTES:
        raise OSError(tr("TIFF holds at most 4 GB"))
    directory = ImageFileDirectory_v2()
    for tag, value in exif.items():
        directory[tag] = value
    for tag in _SUB_DIRECTORIES:
        if below := exif.get_ifd(tag):
            directory[tag] = dict(below)
    bits = 8 * pixels.itemsize
    directory[256], directory[257], directory[258] = width, height, (bits,) * channels
    directory[259], directory[262], directory[277] = _DEFLATE, _RGB, channels
    directory[278], directory[279], directory[284] = ROWS, tuple(sizes), 1
    directory[273] = tuple(sum(sizes[:n]) for n in range(len(sizes)))  # from the end of the tags
    directory[317], directory[339] = _DIFFERENCES, (1,) * channels
    if channels == 4:
        directory[338] = _UNASSOCIATED
    if profile is not None:
        directory.tagtype[_PROFILE] = _UNDEFINED
        directory[_PROFILE] = profile
    with path.open("wb") as file:
        file.write(b"II*\0\x08\0\0\0")
        file.write(directory.tobytes(8))
        for strip in strips:
            file.write(strip)


def _strip(rows: NDArray[np.uint8 | np.uint16]) -> bytes:
    """Compress rows as differences between each pixel and the one before it."""
    differences = rows.copy()
    differences[:, 1:] -= rows[:, :-1]
    if sys.byteorder == "big":
        differences.byteswap(inplace=True)
    return zlib.compress(differences.tobytes(), LEVEL)
