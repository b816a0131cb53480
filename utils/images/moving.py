"""Tells what a file is: a picture, an animation or a film."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from utils.files.regular import check_regular
from utils.files.signatures import AVIF, JPEG, WEBP, holds_pictures_in_motion, what_is
from utils.images.animation import is_animation
from utils.images.opening import kind_of, picture_endings

FileKind = Literal["", "picture", "animation", "film"]

# Endings that films usually have.
FILM_ENDINGS = (
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".wmv", ".flv"),
    *(".ogv", ".ts", ".mts", ".m2ts", ".3gp", ".asf", ".vob", ".mod", ".tod", ".m2t", ".trp"),
    *(".mxf", ".dv", ".h264", ".264", ".h265", ".265", ".hevc", ".mjpeg", ".mjpg", ".insv"),
    *(".lrv", ".3g2", ".divx", ".f4v", ".m1v", ".m2v", ".mpv", ".vro", ".wtv", ".y4m", ".ivf"),
    *(".nut", ".gxf", ".obu", ".rm", ".rmvb"),
)
# Endings of films whose first bytes may not tell what they are.
_UNTOLD = (
    *(".ts", ".m2ts", ".mts", ".m2t", ".trp", ".tod", ".mpg", ".mpeg", ".vob", ".mxf"),
    *(".h264", ".264", ".h265", ".265", ".hevc"),
)
_MOTION_JPEG = (".mjpeg", ".mjpg")  # pictures one after another, which begin as one does
_HEAD = 512  # bytes that tell what a file is
_MAY_MOVE = ("a GIF picture", WEBP, "a PNG picture", AVIF)
_MAY_MOVE_ENDINGS = (".gif", ".webp", ".png", ".apng", ".avif", ".avifs")
# Sound in files as films have.
_SOUNDS = (".m4a", ".m4b", ".m4r", ".aac", ".mka", ".oga", ".ogg", ".opus", ".spx", ".weba", ".wma")


def file_kind(path: Path) -> FileKind:
    """Tell what a file is by its first bytes, and by its ending where these do not tell.

    Raises:
        OSError: It cannot be read.
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
    """Tell whether and how a file moves, as `file_kind` does. Raises OSError."""
    kind = file_kind(path)
    return "" if kind == "picture" else kind


def likely_kind(path: Path) -> FileKind:
    """Tell what a file is without opening one that is named like a picture or like sound, since
    there may be very many. The name tells of a file that cannot be read.
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
