"""Classifies a drop or paste: a source, a style to install, or neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QFileInfo, QMimeData

from app.ui.controllers.dropped_material import NAME, material_of
from utils.images.moving import FILM_ENDINGS, likely_kind
from utils.text import printable
from utils.translation.joints import clauses, listed
from utils.translation.texts import mark, tr, trn

DROPPABLE = mark(
    "Pictures, videos, folders, network addresses, and .styleforge, .pth or .safetensors styles"
)
WEIGHTS = (".pth", ".pt", ".safetensors", ".styleforge")


@dataclass(frozen=True, slots=True)
class Drop:
    """The effect of a drop.

    At most one of `spec` (for session.open), `weights` (for UserStyles.install) and `styles` is
    set. A refused drop sets none of the three, nor `queue` or `image`.

    Attributes:
        queue: Several files for the queue; some may also form a source.
        styles: Several styles to install, for UserStyles.install_all.
        image: Whether the data itself contains a picture, used if `spec` does not open.
    """

    title: str
    detail: str = ""
    spec: str | list[str] | None = None
    weights: Path | None = None
    queue: tuple[Path, ...] = ()
    styles: tuple[Path, ...] = ()
    image: bool = False

    @property
    def accepted(self) -> bool:
        usable = bool(self.queue or self.styles) or self.image
        return usable or self.spec is not None or self.weights is not None


def parse_drop(data: QMimeData) -> Drop:
    """Classify by name, and by first bytes if the name is ambiguous; opening checks the rest."""
    material = material_of(data)
    if material.address:
        title = tr("Drop to open")
        return Drop(title, material.host, spec=material.address, image=material.image)
    if not material.paths:
        return Drop(tr("Drop to open"), image=True) if material.image else _refused(material.name)
    drop = _one(material.paths[0]) if len(material.paths) == 1 else _several(list(material.paths))
    if material.image and not drop.accepted:
        return Drop(tr("Drop to open"), image=True)
    return replace(drop, image=material.image)


@dataclass(frozen=True, slots=True)
class StyleDrop:
    """The effect of a drop on the gallery or a paste into it.

    At most one of `pictures`, `image`, `weights` and `styles` is set; a refused drop sets none.

    Attributes:
        detail: Further details, or what can be dropped.
        image: Whether the data itself contains a style picture.
        weights: A style, for UserStyles.install.
        styles: Several styles, for UserStyles.install_all.
    """

    title: str
    detail: str = ""
    pictures: tuple[Path, ...] = ()
    image: bool = False
    weights: Path | None = None
    styles: tuple[Path, ...] = ()

    @property
    def accepted(self) -> bool:
        return bool(self.pictures or self.styles) or self.image or self.weights is not None


def parse_style_drop(data: QMimeData) -> StyleDrop:
    """Classify as `parse_drop` does, except that a picture is a style."""
    material = material_of(data)
    paths = material.paths
    if not paths:
        if material.image:
            return StyleDrop(tr("Drop to make a style from this picture"), image=True)
        return _no_style("")
    pictures = tuple(p for p in paths if not QFileInfo(p).isDir() and _kind(p) == "image")
    if pictures:
        title = tr("Drop to make a style from '{name}'", name=_name(pictures[0]))
        if len(pictures) > 1:
            title = tr("Drop to make a style from each of {n} pictures", n=len(pictures))
        return StyleDrop(title, _left_out(len(paths) - len(pictures)), pictures)
    first = paths[0]
    if len(paths) == 1 and (
        first.suffix.lower() in WEIGHTS or QFileInfo(first / "style.toml").isFile()
    ):
        return StyleDrop(tr("Drop to install this style"), _name(first), weights=first)
    if len(paths) > 1 and all(path.suffix.lower() in WEIGHTS for path in paths):
        return StyleDrop(_install(len(paths)), styles=tuple(paths))
    if QFileInfo(first).isDir():
        return StyleDrop(
            tr("'{name}' is a folder and cannot be used as a style picture", name=_name(first)),
            tr("Drop the pictures themselves, or drop the folder on the picture above to open it"),
        )
    return _no_style(_name(first))


def _no_style(name: str) -> StyleDrop:
    """Refuse a file; `name` is "" for data without a name."""
    named = tr("'{name}' cannot be used as a style picture", name=name)
    title = named if name else tr("This cannot be used as a style picture")
    return StyleDrop(title, tr("Pictures and style packs can be dropped here"))


def _one(path: Path) -> Drop:
    if path.suffix.lower() in WEIGHTS or QFileInfo(path / "style.toml").isFile():
        return Drop(tr("Drop to install this style"), _name(path), weights=path)
    if QFileInfo(path).isDir() or _kind(path) in ("image", "video"):
        return Drop(tr("Drop to open"), _name(path), spec=str(path))
    return _refused(_name(path))


def _several(paths: list[Path]) -> Drop:
    kinds = ["folder" if QFileInfo(path).isDir() else _kind(path) for path in paths]
    strip = [str(p) for p, kind in zip(paths, kinds, strict=True) if kind in ("folder", "image")]
    usable = ("folder", "image", "video")
    queue = tuple(path for path, kind in zip(paths, kinds, strict=True) if kind in usable)
    if not queue:
        if all(path.suffix.lower() in WEIGHTS for path in paths):
            return Drop(_install(len(paths)), styles=tuple(paths))
        return _refused(_name(paths[0]))
    counts = [words(kinds.count(kind)) for kind, words in _COUNTS.items() if kind in kinds]
    detail = clauses((listed(counts), _left_out(len(paths) - len(queue))))
    if len(queue) == 1:
        return Drop(tr("Drop to open"), detail, spec=str(queue[0]))
    title = tr("Drop to queue or to step through") if strip else tr("Drop to add to the queue")
    return Drop(title, detail, spec=strip or None, queue=queue)


def _name(path: Path) -> str:
    return printable(path.name, NAME)


# The words for a number of files of each kind.
_COUNTS: dict[str, Callable[[int], str]] = {
    "image": lambda n: trn("{n} picture", "{n} pictures", n),
    "video": lambda n: trn("{n} film", "{n} films", n),
    "folder": lambda n: trn("{n} folder", "{n} folders", n),
}


def _left_out(count: int) -> str:
    return trn("{n} other file left out", "{n} other files left out", count) if count else ""


def _install(count: int) -> str:
    return tr("Drop to install these {n} styles", n=count)


def _kind(path: Path) -> str:
    """Return "image", "video" or ""; an animation opens like a picture.

    A clear name is trusted, since this runs on the GUI thread and the disk may be slow.
    """
    if path.suffix.lower() in FILM_ENDINGS:
        return "video"
    return {"picture": "image", "animation": "image", "film": "video"}.get(likely_kind(path), "")


def _refused(name: str) -> Drop:
    """Refuse a file; `name` is "" for data without a name."""
    named = tr("'{name}' cannot be opened", name=name)
    title = named if name else tr("This cannot be opened")
    return Drop(title, tr("{droppable} can be opened.", droppable=tr(DROPPABLE)))
