"""Writes arrays to picture files, atomically."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from utils.files.atomic import replacing
from utils.images.metadata import exif_of, png_info
from utils.images.opening import PATH_LENGTH, ImageError
from utils.images.tiff import write_tiff
from utils.text import printable
from utils.translation.joints import enumerated
from utils.translation.texts import tr

D = TypeVar("D", bound=np.uint8 | np.uint16)
SAVED = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
KEEPS_ALPHA = (".png", ".webp", ".tif", ".tiff")
DEEP = (".png", ".tif", ".tiff")  # store 16 bits per channel
_JPEG_EXIF = 65_000  # bytes, of a segment of at most 65,533
_SIGNATURE, _HEADER = 8, 25  # bytes of PNG before the second chunk


def write_pixels(
    path: str | os.PathLike[str],
    pixels: NDArray[np.uint8 | np.uint16],
    metadata: Mapping[str, str] | None = None,
    quality: int = 95,
    alpha: NDArray[np.uint8] | None = None,
    exif: bytes = b"",
    profile: bytes | None = None,
    compression: int = 6,
) -> None:
    """Write a PNG, JPEG, WebP or TIFF file, by its extension (SAVED), atomically.

    Args:
        pixels: [H, W, 3] uint8, RGB, or uint16 for a format in DEEP; with `alpha`, over white.
        metadata: PNG text chunks, or EXIF: text in ImageDescription and JSON in UserComment;
            "Software" also in the tag of that name. See `read_metadata`.
        quality: Quality of JPEG and WebP, 0-100.
        alpha: [H, W] uint8; ignored by formats that are not in KEEPS_ALPHA.
        exif: EXIF data to preserve, see utils.images.metadata.kept_exif; JPEG has room for 64 KB.
        compression: Level for PNG with 8 bits per channel, 0-9. Level 1 takes a third of the time
            of level 6.

    Raises:
        ImageError: If arguments or size do not fit the format, or the file cannot be written.
    """
    path = Path(path)
    ending, name = path.suffix.lower(), printable(path.name)
    if ending not in SAVED:
        raise ImageError(
            tr(
                "cannot save '{file}': its name must end in {endings}",
                file=name,
                endings=enumerated(SAVED),
            )
        )
    deep = pixels.dtype == np.uint16 and ending in DEEP
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not (deep or pixels.dtype == np.uint8):
        raise ImageError(
            tr(
                "cannot save '{file}': the array must be (H, W, 3) uint8, not {found}",
                file=name,
                found=f"{pixels.shape} {pixels.dtype}",
            )
        )
    side, largest = (
        max(pixels.shape[:2]),
        {".jpg": 65500, ".jpeg": 65500, ".webp": 16383}.get(ending, 2**31 - 1),
    )
    if side > largest:
        raise ImageError(
            tr(
                "cannot save '{file}': {format} allows {most} pixels a side, not {side}",
                file=name,
                format=ending[1:],
                most=largest,
                side=side,
            )
        )
    if alpha is not None and ending in KEEPS_ALPHA:
        scaled = alpha.astype(pixels.dtype) * (257 if deep else 1)
        pixels = np.dstack([off_white(pixels, alpha), scaled.astype(pixels.dtype)])
    metadata = metadata or {}
    try:
        with replacing(path) as temporary:
            if ending in (".tif", ".tiff"):
                write_tiff(temporary, pixels, exif_of(metadata, exif), profile)
            elif deep:
                temporary.write_bytes(_deep_png(pixels, metadata, exif, profile))
            else:
                image = Image.fromarray(np.ascontiguousarray(pixels))
                image.save(
                    temporary, **_options(ending, metadata, quality, exif, profile, compression)
                )
    except OSError as exc:
        raise ImageError(
            tr(
                "cannot save '{file}': {error}",
                file=printable(str(path), PATH_LENGTH),
                error=exc.strerror or exc,
            )
        ) from exc


def _options(
    ending: str,
    metadata: Mapping[str, str],
    quality: int,
    exif: bytes,
    profile: bytes | None,
    compression: int,
) -> dict[str, Any]:
    embedded = {"icc_profile": profile} if profile else {}
    if ending == ".png":
        kept = {"exif": exif} if exif else {}
        packed = {"pnginfo": png_info(metadata), "compress_level": compression}
        return {"format": "PNG", **packed, **kept, **embedded}
    if ending == ".webp":
        return {"format": "WEBP", "quality": quality, "exif": exif_of(metadata, exif), **embedded}
    return {  # without chroma subsampling, which would blur the colored edges of strokes
        "format": "JPEG",
        "quality": quality,
        "subsampling": 0,
        "exif": exif_of(metadata, exif, _JPEG_EXIF),
        **embedded,
    }


def _deep_png(
    pixels: NDArray[Any], metadata: Mapping[str, str], exif: bytes, profile: bytes | None
) -> bytes:
    """Encode a PNG of 16 bits per channel with OpenCV, and add the chunks that OpenCV omits."""
    from utils.opencv import cv2  # without it, 8 bits are written

    order = [2, 1, 0, 3][: pixels.shape[2]]
    try:
        _, encoded = cv2.imencode(".png", np.ascontiguousarray(pixels[..., order]))
    except cv2.error as exc:
        raise OSError(tr("the picture cannot be encoded")) from exc
    chunks = [(kind, data) for kind, data, *_ in png_info(metadata).chunks]
    if exif:
        chunks.insert(0, (b"eXIf", exif.removeprefix(b"Exif\0\0")))
    if profile:
        chunks.insert(0, (b"iCCP", b"ICC profile\0\0" + zlib.compress(profile)))
    data = encoded.tobytes()
    second = _SIGNATURE + _HEADER
    return data[:second] + b"".join(_chunk(*each) for each in chunks) + data[second:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def off_white(pixels: NDArray[D], alpha: NDArray[np.uint8]) -> NDArray[D]:
    """Return the colors that yield `pixels` over white with `alpha`, clipped to the dtype."""
    soft = (alpha > 0) & (alpha < 255)
    share = alpha[soft, None].astype(np.float32) / 255
    most, colors = np.iinfo(pixels.dtype).max, pixels.copy()
    colors[soft] = np.rint(np.clip(most - (most - pixels[soft]) / share, 0, most))
    return colors
