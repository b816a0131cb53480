"""Classifies a file as a picture, an animation or a film."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from utils.files.regular import check_regular
from utils.files.signatures import AVIF, JPEG, WEBP, holds_pictures_in_motion, what_is
from utils.images.animation import is_animation
from utils.images.opening import kind_of, picture_endings

FileKind = Literal["", "picture", "animation", "film"]

# Usual extensions of films.
FILM_ENDINGS = (
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".wmv", ".flv"),
    *(".ogv", ".ts", ".mts", ".m2ts", ".3gp", ".asf", ".vob", ".mod", ".tod", ".m2t", ".trp"),
    *(".mxf", ".dv", ".h264", ".264", ".h265", ".265", ".hevc", ".mjpeg", ".mjpg", ".insv"),
    *(".lrv", ".3g2", ".divx", ".f4v", ".m1v", ".m2v", ".mpv", ".vro", ".wtv", ".y4m", ".ivf"),
    *(".nut", ".gxf", ".obu", ".rm", ".rmvb"),
)
# Extensions of films whose first bytes may be inconclusive.
_UNTOLD = (
    *(".ts", ".m2ts", ".mts", ".m2t", ".trp", ".tod", ".mpg", ".mpeg", ".vob", ".mxf"),
    *(".h264", ".264", ".h265", ".265", ".hevc"),
)
_MOTION_JPEG = (".mjpeg", ".mjpg")  # successive pictures; the file begins like a picture
_HEAD = 512  # bytes that identify the kind of a file
_MAY_MOVE = ("a GIF picture", WEBP, "a PNG picture", AVIF)
_MAY_MOVE_ENDINGS = (".gif", ".webp", ".png", ".apng", ".avif", ".avifs")
# Sound in the containers of films.
_SOUNDS = (".m4a", ".m4b", ".m4r", ".aac", ".mka", ".oga", ".ogg", ".opus", ".spx", ".weba", ".wma")


def file_kind(path: Path) -> FileKind:
    """Classify a file by its first bytes, or by its extension if they are inconclusive.

    Raises:
        OSError: If the file cannot be read.
    """
    if not path.is_file():
        return ""
    check_regular(path)
    with path.open("rb") as file:
        what = what_is(file.read(_HEAD))
    ending = path.suffix.lower()
    if what in _MAY_MOVE:
        return "animation" if is_animation(path) else "picture"
    if holds_pictures_in_motion(what) or (what == JPEG and ending in _MOTION_JPEG):
        return "film"
    return kind_of(path) or ("film" if not what and ending in _UNTOLD else "")


def moving_kind(path: Path) -> Literal["", "film", "animation"]:
    """Return whether and how a file moves; raise OSError as `file_kind` does."""
    kind = file_kind(path)
    return "" if kind == "picture" else kind


def likely_kind(path: Path) -> FileKind:
    """Classify a file, without opening it if its name suggests a picture or sound.

    A folder may contain very many such files. The name also classifies a file that cannot be read.
    """
    ending = path.suffix.lower()
    if ending in picture_endings():
        return "picture"
    if ending in _SOUNDS:
        return ""
    try:
        if path.is_file():
            return file_kind(path)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        pass
    return "film" if ending in FILM_ENDINGS else ""


def moves_in_folder(path: Path) -> bool:
    """Return whether a file found in a folder moves; False if it cannot be read.

    A file named like a picture or sound is not opened: a folder may contain very many.
    """
    ending = path.suffix.lower()
    still = ending in picture_endings() and ending not in _MAY_MOVE_ENDINGS
    if still or ending in _SOUNDS:
        return False
    try:
        return moving_kind(path) != ""
    except OSError:
        return False
