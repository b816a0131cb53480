"""Names that a file can have on every system, made of texts that anybody may have typed."""

from __future__ import annotations

import re

_UNUSABLE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
# Windows opens devices by these names, whatever ending follows them. It takes the superscripts of
# Latin-1 for digits.
_DEVICE = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE
)


def is_device(name: str) -> bool:
    """Return whether Windows takes a name for a device, with any ending, as in "con.png"."""
    return _DEVICE.fullmatch(name.partition(".")[0].rstrip(" ")) is not None


def portable_name(text: str) -> str:
    """Return `text` as the name of a file, which may still be empty.

    A "_" replaces characters that no name may have and precedes the name of a device. Dots and
    spaces at the end are removed, since Windows drops them.
    """
    name = _UNUSABLE.sub("_", text).strip(" .")
    return f"_{name}" if is_device(name) else name
