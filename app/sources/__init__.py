"""The table of source kinds, and how a spec becomes a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import StyleForgeError
from app.frame import FrameSource
from app.sources.address import Address, is_address, open_address
from app.sources.camera import CameraName, is_camera, list_cameras, open_camera
from app.sources.files import (
    is_folder,
    natural_sort,
    open_file,
    open_folder,
    open_strip,
    pictures_in,
    strip_of,
)
from app.sources.scene import SCENE, Scene
from utils.text import printable
from utils.translation.texts import mark, tr, trn

__all__ = [
    "SCENE",
    "SOURCES",
    "CameraName",
    "SourceKind",
    "describe",
    "list_cameras",
    "natural_sort",
    "open_source",
    "pictures_in",
    "strip_of",
]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One kind of source.

    Attributes:
        open: opens a spec; may block for seconds, and raises StyleForgeError.
        describe: a short title of a spec for messages.
    """

    key: str
    title: str
    placeholder: str
    accepts: Callable[[str], bool]
    open: Callable[[str], FrameSource]
    describe: Callable[[str], str]


# The first kind that accepts a spec opens it.
SOURCES: tuple[SourceKind, ...] = (
    SourceKind(
        "camera",
        mark("Camera"),
        "camera:0, camera:0@1280x720@30 or camera:its name",
        is_camera,
        open_camera,
        lambda spec: tr(
            "the camera {name}", name=spec.removeprefix("camera:").split("@")[0]
        ).strip(),
    ),
    SourceKind(
        "scene",
        mark("Animated scene"),
        SCENE,
        SCENE.__eq__,
        lambda _: Scene(),
        lambda _: tr("the scene"),
    ),
    SourceKind(
        "address",
        mark("Network address"),
        "http://camera.local/video.mjpg or rtsp://camera.local/stream",
        is_address,
        open_address,
        lambda spec: Address.parse(spec).title,
    ),
    SourceKind(
        "folder",
        mark("Folder of pictures"),
        "a folder",
        is_folder,
        lambda spec: open_folder(Path(spec)),
        lambda spec: tr("the folder '{name}'", name=printable(Path(spec).name)),
    ),
    SourceKind(
        "file",
        mark("Picture or video"),
        "a picture or video file",
        lambda spec: "://" not in spec,
        lambda spec: open_file(Path(spec)),
        lambda spec: f"'{printable(Path(spec).name)}'",
    ),
)


def open_source(spec: str | Sequence[str]) -> FrameSource:
    """Open a source, which may block for seconds.

    `spec` is a text that one of SOURCES accepts, or the paths of a strip of pictures.

    Raises:
        StyleForgeError: If the source cannot be opened; the message is one sentence.
    """
    if not isinstance(spec, str):
        return open_strip(spec)
    return _kind(spec).open(spec)


def describe(spec: str | Sequence[str]) -> str:
    """Return a short title for messages, such as "the camera 0" or "'film.mp4'"; never a login."""
    if not isinstance(spec, str):
        if len(spec) == 1:
            return f"'{printable(Path(spec[0]).name)}'"
        return trn("{n} picture", "{n} pictures", len(spec))
    try:
        return _kind(spec).describe(spec)
    except StyleForgeError:
        return tr("the address")


def _kind(spec: str) -> SourceKind:
    if not spec.strip():
        raise StyleForgeError(tr("no source was given"))
    for kind in SOURCES:
        if kind.accepts(spec):
            return kind
    raise StyleForgeError(
        tr(
            "'{scheme}://' addresses cannot be opened, only http://, https:// and rtsp://",
            scheme=spec.partition("://")[0],
        )
    )
