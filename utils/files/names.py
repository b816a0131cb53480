"""File names that are valid on every system, made from arbitrary texts."""

from __future__ import annotations

import re

_UNUSABLE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
# Windows opens devices by these names, with any extension. It treats the superscripts of Latin-1 as
# digits.
_DEVICE = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE
)


def is_device(name: str) -> bool:
    """Return whether Windows treats a name as a device, with any extension, as in "con.png"."""
    return _DEVICE.fullmatch(name.partition(".")[0].rstrip(" ")) is not None


def portable_name(text: str) -> str:
    """Return `text` as a file name, which may still be empty.

    "_" replaces invalid characters and precedes a device's name; Windows drops dots and spaces at
    the end, so they are removed.
    """
    name = _UNUSABLE.sub("_", text).strip(" .")
    return f"_{name}" if is_device(name) else name
