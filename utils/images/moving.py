"""Tells which files move: films by their first bytes, animations by their frames."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from utils.files.regular import check_regular
from utils.files.signatures import what_is
from utils.images.animation import is_animation
from utils.images.opening import kind_of, picture_endings

# Endings of films whose first bytes do not tell what they are.
_ENDINGS = (".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".vob", ".wmv", ".asf", ".flv", ".264", ".265")
_HEAD = 512  # bytes that tell what a file is
_HOLDS_FILMS = ("an MP4 or QuickTime file", "an Ogg file")
_MAY_MOVE = ("a GIF picture", "a WebP picture")
_MAY_MOVE_ENDINGS = (".gif", ".webp")
# Sound in files as films have.
_SOUNDS = (".m4a", ".m4b", ".m4r", ".aac", ".mka", ".oga", ".ogg", ".opus", ".spx", ".weba")


def moving_kind(path: Path) -> Literal["", "film", "animation"]:
    """Tell whether a file moves: by its first bytes, or its ending where they do not tell.

    Raises:
        OSError: It cannot be read.
    """
    if not path.is_file():
        return ""
    check_regular(path)
    with path.open("rb") as file:
        what = what_is(file.read(_HEAD))
    if what in _MAY_MOVE:
        return "animation" if is_animation(path) else ""
    if what:
        return "film" if what.endswith("video") or what in _HOLDS_FILMS else ""
    return "film" if path.suffix.lower() in _ENDINGS and not kind_of(path) else ""


def moves_in_folder(path: Path) -> bool:
    """Whether a file that was found in a folder moves. One that is called as a picture is or as
    sound is not opened, since a folder may hold very many; one that cannot be read does not count.
    """
    ending = path.suffix.lower()
    still = ending in picture_endings() and ending not in _MAY_MOVE_ENDINGS
    if still or ending in _SOUNDS:
        return False
    try:
        return moving_kind(path) != ""
    except OSError:
        return False
