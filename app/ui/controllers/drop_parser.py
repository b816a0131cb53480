"""Classifies a drop or a paste: a source, a style to install, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QFileInfo, QMimeData, QMimeDatabase, QUrl

from app.batch.description import FILM_ENDINGS
from utils.text import printable

DROPPABLE = (
    "Pictures, videos, folders, network addresses, and .styleforge, .pth or .safetensors styles"
)
WEIGHTS = (".pth", ".pt", ".safetensors", ".styleforge")
NAME = 100  # characters of a file's name in the hint
_STREAMS = ("http", "https", "rtsp", "rtsps")


@dataclass(frozen=True, slots=True)
class Drop:
    """What a drop would do.

    At most one of `spec` (for session.open), `weights` (for UserStyles.install) and `styles` is
    set, and none of them, nor `queue`, if the drop is refused.

    Attributes:
        title: What would be done, or why nothing can be.
        detail: More of it.
        spec: A source.
        weights: A style to install.
        queue: Several files for the queue, some of which may be a source as well.
        styles: Several styles to install, for UserStyles.install_all.
    """

    title: str
    detail: str = ""
    spec: str | list[str] | None = None
    weights: Path | None = None
    queue: tuple[Path, ...] = ()
    styles: tuple[Path, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the drop can be opened, queued or installed."""
        return self.spec is not None or self.weights is not None or bool(self.queue or self.styles)


def parse_drop(data: QMimeData) -> Drop:
    """Classify by names alone, fast enough for every mouse move; content is checked on opening."""
    urls = data.urls() if data.hasUrls() else []
    if not urls and data.hasText():
        urls = _typed(data.text().strip())
    if not urls:
        return _refused("This")
    if len(urls) == 1 and urls[0].scheme() in _STREAMS:
        encoded = urls[0].toString(QUrl.ComponentFormattingOption.FullyEncoded)
        return Drop("Drop to open", printable(urls[0].host(), NAME), spec=encoded)
    # A file name cannot contain NUL, and Qt would print a warning.
    local = [url.toLocalFile() for url in urls if url.isLocalFile()]
    paths = [Path(name) for name in local if "\0" not in name]
    if not paths:
        return _refused(f"'{printable(urls[0].toDisplayString(), NAME)}'")
    if len(paths) == 1:
        return _one(paths[0])
    return _several(paths)


@dataclass(frozen=True, slots=True)
class StyleDrop:
    """What a drop on the gallery, or a paste into it, would do.

    At most one of `pictures`, `image`, `weights` and `styles` is set; none if it is refused.

    Attributes:
        title: What would be done, or why nothing can be.
        detail: More of it, or what can be dropped.
        pictures: Files of style pictures.
        image: Whether the data itself holds a style picture.
        weights: For UserStyles.install.
        styles: Several of them, for UserStyles.install_all.
    """

    title: str
    detail: str = ""
    pictures: tuple[Path, ...] = ()
    image: bool = False
    weights: Path | None = None
    styles: tuple[Path, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether something can be made of it."""
        return bool(self.pictures or self.styles) or self.image or self.weights is not None


def parse_style_drop(data: QMimeData) -> StyleDrop:
    """Classify by names alone, as `parse_drop`: here a picture is a style."""
    urls = data.urls() if data.hasUrls() else []
    if not urls and data.hasImage():
        return StyleDrop("Drop to take the style of this picture", image=True)
    if not urls and data.hasText():
        urls = _typed(data.text().strip())
    local = [url.toLocalFile() for url in urls if url.isLocalFile()]
    paths = [Path(name) for name in local if "\0" not in name]
    if not paths:
        if data.hasImage():  # dragged from a browser, with its address
            return StyleDrop("Drop to take the style of this picture", image=True)
        return _no_style("This")
    pictures = tuple(p for p in paths if not QFileInfo(p).isDir() and _kind(p) == "image")
    if pictures:
        what = f"of '{_name(pictures[0])}'"
        what = what if len(pictures) == 1 else f"of each of {len(pictures)} pictures"
        left_out = len(paths) - len(pictures)
        detail = f"{_count(left_out, 'other file')} left out" if left_out else ""
        return StyleDrop(f"Drop to take the style {what}", detail, pictures)
    first = paths[0]
    if len(paths) == 1 and (
        first.suffix.lower() in WEIGHTS or QFileInfo(first / "style.toml").isFile()
    ):
        return StyleDrop("Drop to install this style", _name(first), weights=first)
    if len(paths) > 1 and all(path.suffix.lower() in WEIGHTS for path in paths):
        return StyleDrop(f"Drop to install these {len(paths)} styles", styles=tuple(paths))
    if QFileInfo(first).isDir():
        return StyleDrop(
            f"'{_name(first)}' is a folder and no style picture",
            "Drop the pictures themselves, or drop the folder on the picture above to open it",
        )
    return _no_style(f"'{_name(first)}'")


def _no_style(what: str) -> StyleDrop:
    return StyleDrop(f"{what} is no style picture", "Pictures and style packs can be dropped here")


def _one(path: Path) -> Drop:
    if path.suffix.lower() in WEIGHTS or QFileInfo(path / "style.toml").isFile():
        return Drop("Drop to install this style", _name(path), weights=path)
    if QFileInfo(path).isDir() or _kind(path) in ("image", "video"):
        return Drop("Drop to open", _name(path), spec=str(path))
    return _refused(f"'{_name(path)}'")


def _several(paths: list[Path]) -> Drop:
    kinds = ["folder" if QFileInfo(path).isDir() else _kind(path) for path in paths]
    strip = [str(p) for p, kind in zip(paths, kinds, strict=True) if kind in ("folder", "image")]
    usable = ("folder", "image", "video")
    queue = tuple(path for path, kind in zip(paths, kinds, strict=True) if kind in usable)
    if not queue:
        if all(path.suffix.lower() in WEIGHTS for path in paths):
            return Drop(f"Drop to install these {len(paths)} styles", styles=tuple(paths))
        return _refused(f"'{_name(paths[0])}'")
    words = (("image", "picture"), ("video", "film"), ("folder", "folder"))
    counts = [_count(kinds.count(kind), word) for kind, word in words if kind in kinds]
    detail = " and ".join([", ".join(counts[:-1]), counts[-1]]) if counts[1:] else counts[0]
    if left_out := len(paths) - len(queue):
        detail += f"; {_count(left_out, 'other file')} left out"
    if len(queue) == 1:
        return Drop("Drop to open", detail, spec=str(queue[0]))
    title = "Drop to queue or to step through" if strip else "Drop to add to the queue"
    return Drop(title, detail, spec=strip or None, queue=queue)


def _name(path: Path) -> str:
    return printable(path.name, NAME)


def _count(number: int, word: str) -> str:
    """Return "1 picture" or "2 pictures"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _kind(path: Path) -> str:
    """Return "image", "video", ... by the file's extension."""
    if path.suffix.lower() in FILM_ENDINGS:  # .ts is a translation for Qt
        return "video"
    match = QMimeDatabase.MatchMode.MatchExtension
    return QMimeDatabase().mimeTypeForFile(path.name, match).name().partition("/")[0]


def _typed(text: str) -> list[QUrl]:
    """Return the URL of an address or path given as text, as terminals and browsers do.

    A text too long for a path is a missing file for Qt, but an error for Python.
    """
    if not text or "\n" in text or "\0" in text:
        return []
    url = QUrl(text)
    if url.scheme() in (*_STREAMS, "file"):
        return [url]
    path = Path(text)
    return [QUrl.fromLocalFile(text)] if path.is_absolute() and QFileInfo(path).exists() else []


def _refused(what: str) -> Drop:
    return Drop(f"{what} cannot be opened", f"{DROPPABLE} can.")
