"""Metadata of picture files: text chunks of PNG, EXIF of other formats."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from utils.images.opening import opened

_DESCRIPTION, _SOFTWARE = 0x010E, 0x0131
_EXIF_IFD, _USER_COMMENT = 0x8769, 0x9286
_ASCII = b"ASCII\0\0\0"  # the character code that begins an EXIF UserComment


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the metadata that `write_pixels` wrote.

    Args:
        path: A picture file.

    Returns:
        The metadata; empty if there are none.

    Raises:
        ImageError: The picture cannot be read.
    """
    with opened(path) as image:
        image.load()  # text chunks may follow the pixels
        if image.format == "PNG":
            text = getattr(image, "text", {})
            return {str(key): str(value) for key, value in text.items()}
        comment = image.getexif().get_ifd(_EXIF_IFD).get(_USER_COMMENT, b"")
    if not isinstance(comment, bytes) or not comment.startswith(_ASCII):
        return {}
    try:
        stored = json.loads(comment[len(_ASCII) :])
    except ValueError:  # a comment by another program
        return {}
    return {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}


def png_info(metadata: Mapping[str, str]) -> PngInfo:
    """Convert metadata to text chunks of a PNG file."""
    info = PngInfo()
    for key, value in metadata.items():
        info.add_text(key, value)
    return info


def exif_of(metadata: Mapping[str, str]) -> Image.Exif:
    """Convert metadata to EXIF: as text in ImageDescription, and as JSON in UserComment."""
    exif = Image.Exif()
    if metadata:
        exif[_DESCRIPTION] = "; ".join(f"{key}: {value}" for key, value in metadata.items())
        exif[_SOFTWARE] = metadata.get("Software", "")
        exif.get_ifd(_EXIF_IFD)[_USER_COMMENT] = _ASCII + json.dumps(dict(metadata)).encode()
    return exif
