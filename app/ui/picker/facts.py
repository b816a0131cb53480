"""The sizes of files, as text."""

from __future__ import annotations

from app.ui.widgets.small_pictures import Preview
from utils.text import clock
from utils.translation.joints import enumerated
from utils.translation.numbers import number
from utils.translation.texts import tr

_KB, _MB, _GB = 1e3, 1e6, 1e9


def bytes_text(size: int) -> str:
    """Return a size such as "2.3 MB"."""
    if size >= _GB:
        return tr("{size} GB", size=number(size / _GB, 1))
    if size >= _MB:
        return tr("{size} MB", size=number(size / _MB, 1))
    return tr("{size} KB", size=number(max(size / _KB, 0.1), 1 if size < 10 * _KB else 0))


def contents_text(preview: Preview) -> str:
    """Return the size of a picture or film, such as "1920 x 1080, 0:32"."""
    shown = f"{preview.width} x {preview.height}"
    return enumerated((shown, clock(round(preview.seconds)) if preview.seconds else ""))
