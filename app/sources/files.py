"""Opening of files and folders; the first bytes of a file decide its type, never its name."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.errors import StyleForgeError
from app.frame import FrameSource
from app.sources.pictures import Pictures
from app.sources.video import Video, open_film
from app.sources.video_decoder import AnimationReader, VideoReader
from utils.files.signatures import RIFF, what_is
from utils.images.moving import file_kind, likely_kind
from utils.images.opening import ImageError
from utils.text import printable
from utils.translation.texts import tr


def open_file(path: Path) -> FrameSource:
    """Open a picture, animation or video.

    Raises:
        StyleForgeError: If the file has another type, is damaged, or cannot be read.
    """
    head = _read_head(path)
    kind = file_kind(path)
    name, shown = what_is(head), printable(path.name)
    if kind == "animation":
        try:
            return Video(AnimationReader(path))
        except ImageError as exc:
            raise StyleForgeError(str(exc)) from exc
    if kind == "picture" or (name.endswith(("picture", "photo")) and kind != "film"):
        return Pictures([path])
    if name and kind != "film" and name != RIFF:
        raise StyleForgeError(
            tr("'{file}' is {kind}, not a picture or video", file=shown, kind=tr(name))
        )
    try:
        return open_film(VideoReader(path))
    except StyleForgeError as exc:
        if name:
            raise StyleForgeError(
                tr(
                    "'{file}' is {kind}, but damaged or without a picture",
                    file=shown,
                    kind=tr(name),
                )
            ) from exc
        raise StyleForgeError(
            tr("'{file}' is not a picture or video, or damaged", file=shown)
        ) from exc


def is_folder(spec: str) -> bool:
    """Return whether a folder of this name exists; an impossible name counts as a missing file."""
    try:
        return Path(spec).is_dir()
    except OSError:  # a name that is too long
        return False


def open_folder(folder: Path) -> Pictures:
    """Open a folder's pictures as a strip in natural order.

    Raises:
        StyleForgeError: If the folder contains no pictures.
    """
    return Pictures(pictures_in(folder))


def pictures_in(folder: Path, *, films: bool = False) -> tuple[Path, ...]:
    """Return the pictures in `folder`, with `films` also films, in natural order, not recursively.

    A file named like a picture is included even if it is damaged; the strip reports it.

    Raises:
        StyleForgeError: If there is none, or the folder cannot be read.
    """
    shown = printable(folder.name)
    try:
        files = [p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")]
    except OSError as exc:
        raise StyleForgeError(
            tr("the folder '{name}' cannot be read: {error}", name=shown, error=exc.strerror)
        ) from exc
    wanted = ("picture", "animation", "film") if films else ("picture", "animation")
    found = [path for path in files if likely_kind(path) in wanted]
    if not found:
        if films:
            raise StyleForgeError(
                tr("the folder '{name}' holds neither pictures nor films", name=shown)
            )
        raise StyleForgeError(tr("the folder '{name}' holds no pictures", name=shown))
    return natural_sort(found)


def natural_sort(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Sort by name, with numbers by value: 9.jpg before 10.jpg."""

    def key(path: Path) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", path.name.lower())
        return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]

    return tuple(sorted(paths, key=key))


def open_strip(paths: Sequence[str]) -> Pictures:
    """Open the chosen pictures in this order; the pictures in a folder replace it."""
    return Pictures(strip_of(paths))


def strip_of(spec: str | Sequence[str]) -> tuple[Path, ...]:
    """Return a folder's pictures, or the chosen ones.

    Raises:
        StyleForgeError: If there are no pictures.
    """
    strip: list[Path] = []
    for path in map(Path, [spec] if isinstance(spec, str) else spec):
        strip += pictures_in(path) if path.is_dir() else [path]
    return tuple(strip)


MAX_PATH_LENGTH = 1000  # characters


def _read_head(path: Path) -> bytes:
    shown = printable(str(path), MAX_PATH_LENGTH)
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading could block forever
            raise StyleForgeError(tr("'{file}' is not a file but a device or pipe", file=shown))
        with path.open("rb") as file:
            head = file.read(512)
    except (FileNotFoundError, ValueError):  # a file name cannot contain NUL
        raise StyleForgeError(tr("'{file}' does not exist", file=shown)) from None
    except PermissionError:
        raise StyleForgeError(tr("you have no permission to read '{file}'", file=shown)) from None
    except OSError as exc:
        raise StyleForgeError(
            tr("'{file}' cannot be read: {error}", file=shown, error=exc.strerror)
        ) from exc
    if not head:
        raise StyleForgeError(tr("'{file}' is empty", file=printable(path.name)))
    return head
