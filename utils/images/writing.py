"""Writes arrays to picture files, atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.files.atomic import replacing
from utils.images.metadata import exif_of, png_info
from utils.images.opening import PATH_LENGTH, ImageError
from utils.text import printable

SAVED = (".png", ".jpg", ".jpeg", ".webp")
KEEPS_ALPHA = (".png", ".webp")


def write_pixels(
    path: str | os.PathLike[str],
    pixels: NDArray[np.uint8],
    metadata: Mapping[str, str] | None = None,
    quality: int = 95,
    alpha: NDArray[np.uint8] | None = None,
) -> None:
    """Write a PNG, JPEG or WebP file, atomically.

    Args:
        path: The file to write or replace; its ending, one of SAVED, gives the format.
        pixels: [H, W, 3] uint8, RGB; with `alpha`, composited over white.
        metadata: Stored as PNG text chunks, otherwise as EXIF: as text in ImageDescription and as
            JSON in UserComment; "Software" also in the tag of that name. See `read_metadata`.
        quality: Of JPEG and WebP, 0-100.
        alpha: [H, W] uint8; ignored by formats that are not in KEEPS_ALPHA.

    Raises:
        ImageError: The arguments or the size do not fit the format, or the file cannot be
            written.
    """
    path = Path(path)
    ending, name = path.suffix.lower(), printable(path.name)
    if ending not in SAVED:
        raise ImageError(f"cannot save '{name}': its name must end in {', '.join(SAVED)}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ImageError(
            f"cannot save '{name}': not (H, W, 3) uint8 but {pixels.shape} {pixels.dtype}"
        )
    side, largest = max(pixels.shape[:2]), {".png": 2**31 - 1, ".webp": 16383}.get(ending, 65500)
    if side > largest:
        raise ImageError(
            f"cannot save '{name}': {ending[1:]} holds {largest} pixels a side, not {side}"
        )
    if alpha is not None and ending in KEEPS_ALPHA:
        pixels = np.dstack([_off_white(pixels, alpha), alpha])
    image = Image.fromarray(np.ascontiguousarray(pixels))
    metadata = metadata or {}
    try:
        with replacing(path) as temporary:
            if ending == ".png":
                image.save(temporary, "PNG", pnginfo=png_info(metadata))
            elif ending == ".webp":
                image.save(temporary, "WEBP", quality=quality, exif=exif_of(metadata))
            else:  # without chroma subsampling, which would blur the colored edges of strokes
                image.save(
                    temporary, "JPEG", quality=quality, subsampling=0, exif=exif_of(metadata)
                )
    except OSError as exc:
        raise ImageError(
            f"cannot save '{printable(str(path), PATH_LENGTH)}': {exc.strerror or exc}"
        ) from exc


def _off_white(pixels: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Invert compositing over white: the colors that give `pixels` when composited with `alpha`,
    clipped to 0-255."""
    soft = (alpha > 0) & (alpha < 255)
    share = alpha[soft, None].astype(np.float32) / 255
    colors = pixels.copy()
    colors[soft] = np.rint(np.clip(255 - (255 - pixels[soft]) / share, 0, 255))
    return colors
