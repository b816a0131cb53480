"""Detects gain maps in picture files, which make them brighter on an HDR screen."""

from __future__ import annotations

from typing import IO, Any

from PIL import Image

from utils.images.opening import MALFORMED

# In the metadata of Android's Ultra HDR and Adobe's gain maps, of ISO 21496-1, and of Apple's.
_NAMES = (b"hdr-gain-map", b"hdrgm:", b"urn:iso:std:iso:ts:21496:-1", b"hdrgainmap", b"HDRGainMap")
_BRAND = b"tmap"  # of HEIC and AVIF with a gain map by ISO 21496-1
_MOST_FRAMES = 4  # examined in a JPEG with several pictures
_HEAD = 64  # bytes of the box with the brands


def has_gain_map(image: Image.Image) -> bool:
    """Return whether a file, open but not loaded, has a gain map; it is left at its first frame."""
    try:
        if _is_named(image) or _has_brand(image):
            return True
        count = int(getattr(image, "n_frames", 1)) if image.format == "MPO" else 1
        for number in range(1, min(count, _MOST_FRAMES)):
            image.seek(number)
            if _is_named(image):
                return True
    except MALFORMED:  # damaged after the picture, which may be intact
        return False
    finally:
        if image.format == "MPO":
            image.seek(0)
    return False


def _is_named(image: Image.Image) -> bool:
    segments: list[tuple[str, bytes]] = getattr(image, "applist", [])
    texts: list[Any] = [data for _, data in segments]
    texts += [image.info.get("xmp", b""), *map(str.encode, image.info.get("aux", ()))]
    return any(name in text for text in texts if isinstance(text, bytes) for name in _NAMES)


def _has_brand(image: Image.Image) -> bool:
    file: IO[bytes] | None = getattr(image, "fp", None)
    if image.format not in ("HEIF", "AVIF") or file is None:
        return False
    place = file.tell()
    file.seek(0)
    head = file.read(_HEAD)
    file.seek(place)
    end = min(int.from_bytes(head[:4]), len(head))
    return _BRAND in (head[at : at + 4] for at in range(8, end, 4))
