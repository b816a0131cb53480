"""Metadata of picture files: text chunks of PNG, EXIF of other formats."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from utils.files import small_json
from utils.images.opening import MALFORMED, opened

_DESCRIPTION, _SOFTWARE = 0x010E, 0x0131
_EXIF_IFD, _USER_COMMENT = 0x8769, 0x9286
_GPS_IFD, _INTEROPERABILITY, _MAKER_NOTE, _ORIENTATION = 0x8825, 0xA005, 0x927C, 0x0112
_SIDES = 0xA002, 0xA003  # PixelXDimension, PixelYDimension
# Description, make, model, resolution, software, date, artist, host, ratings, copyright.
_KEPT = {
    *(0x010E, 0x010F, 0x0110, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, 0x013B, 0x013C),
    *(0x4746, 0x4749, 0x8298),
}
# title, comment, author, keywords, subject, as Windows stores them
_WINDOWS = range(0x9C9B, 0x9CA0)
_ASCII = b"ASCII\0\0\0"  # the character code that begins an EXIF UserComment


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the metadata that `write_pixels` stored; return {} without any.

    Raises:
        ImageError: If the file cannot be read as a picture.
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
        stored = small_json.loads(comment[len(_ASCII) :])
    except small_json.SmallJsonError:  # another program wrote the comment
        return {}
    return {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}


def png_info(metadata: Mapping[str, str]) -> PngInfo:
    info = PngInfo()
    for key, value in metadata.items():
        info.add_text(key, value)
    return info


def kept_exif(image: Image.Image, size: tuple[int, int]) -> bytes | None:
    """Return the EXIF data, in Pillow's encoding, that the results of a loaded picture preserve.

    They are the camera's and the photographer's entries, for an upright picture of (width, height),
    without the thumbnail and entries that describe the file. Return b"" if there are none, and None
    if they are damaged.
    """
    kept = Image.Exif()
    try:
        found = image.getexif()
        for tag in found:
            if tag in _KEPT or tag in _WINDOWS:
                kept[tag] = found[tag]
        if camera := dict(found.get_ifd(_EXIF_IFD)):
            camera.pop(_INTEROPERABILITY, None)
            for tag, side in zip(_SIDES, size, strict=True):
                if tag in camera:
                    camera[tag] = side
            kept.get_ifd(_EXIF_IFD).update(camera)
        if place := dict(found.get_ifd(_GPS_IFD)):
            kept.get_ifd(_GPS_IFD).update(place)
        if not kept and not camera and not place:
            return b""
        if _ORIENTATION in found:
            kept[_ORIENTATION] = 1
        data = kept.tobytes()
        Image.Exif().load(data)
    except MALFORMED:
        return None
    return data


def resized_exif(exif: bytes, size: tuple[int, int]) -> bytes:
    """Return the data of `kept_exif` for the picture in another size, (width, height)."""
    if not exif:
        return exif
    kept = Image.Exif()
    kept.load(exif)
    camera = kept.get_ifd(_EXIF_IFD)
    for tag, side in zip(_SIDES, size, strict=True):
        if tag in camera:
            camera[tag] = side
    return kept.tobytes()


def exif_of(metadata: Mapping[str, str], kept: bytes = b"", most: float = math.inf) -> Image.Exif:
    """Convert metadata to EXIF: JSON in UserComment, and text in ImageDescription if it is free.

    The maker's notes, and then all of `kept` (see `kept_exif`), are left out beyond `most` bytes.
    """
    exif = _exif_of(metadata, kept)
    if kept and len(exif.tobytes()) > most:
        exif.get_ifd(_EXIF_IFD).pop(_MAKER_NOTE, None)
        if len(exif.tobytes()) > most:
            return _exif_of(metadata, b"")
    return exif


def _exif_of(metadata: Mapping[str, str], kept: bytes) -> Image.Exif:
    exif = Image.Exif()
    if kept:
        exif.load(kept)
        for tag in (_EXIF_IFD, _GPS_IFD):
            exif.get_ifd(tag)  # read before writing
    if metadata:
        if not exif.get(_DESCRIPTION):
            described = "; ".join(f"{key}: {value}" for key, value in metadata.items())
            exif[_DESCRIPTION] = described
        exif[_SOFTWARE] = metadata.get("Software", "")
        exif.get_ifd(_EXIF_IFD)[_USER_COMMENT] = _ASCII + json.dumps(dict(metadata)).encode()
    return exif
