"""Asks for files: each kind is looked for where one was found the last time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from app.settings import Settings
from app.ui.window_geometry import WindowGeometry

Place = QStandardPaths.StandardLocation
LONGEST = 120  # letters of a name that is suggested; file systems stop at 255 bytes

_PICTURES = (
    "png jpg jpeg jfif webp avif heic heif gif bmp tif tiff tga ppm pgm pnm jp2 ico psd dds qoi"
)
_VIDEOS = "mp4 m4v mov mkv webm avi mpg mpeg wmv flv ogv ts mts m2ts 3gp"
PICTURES, VIDEOS = (
    tuple(f".{each}" for each in endings.split()) for endings in (_PICTURES, _VIDEOS)
)


def _filter(title: str, *endings: str) -> str:
    return f"{title} ({' '.join(f'*{ending}' for ending in endings)})"


_ALL = "All files (*)"


@dataclass(frozen=True, slots=True)
class Kind:
    """`setting` is the field of Settings that holds the last folder of this kind, `places` are
    where to begin without one, `filters` what can be opened, the first at once."""

    setting: str
    places: tuple[Place, ...]
    filters: tuple[str, ...] = ()


_FILES = (Place.PicturesLocation, Place.MoviesLocation)
OPENED = Kind(
    "open_folder",
    _FILES,
    (
        _filter("Pictures and videos", *PICTURES, *VIDEOS),
        _filter("Pictures", *PICTURES),
        _filter("Videos", *VIDEOS),
        _ALL,
    ),
)
PICTURE = Kind("open_folder", _FILES, (_filter("Pictures", *PICTURES), _ALL))
FOLDER = Kind("open_folder", _FILES)
STYLE = Kind(
    "weights_folder",
    (Place.DownloadLocation,),
    (_filter("Styles", ".pth", ".pt", ".safetensors"), _ALL),
)
WEIGHTS = Kind(
    "weights_folder",
    (Place.DownloadLocation,),
    (_filter("Weights", ".pth", ".pt", ".safetensors"), _ALL),
)
SAVED = Kind(
    "save_folder",
    (Place.PicturesLocation,),
    (_filter("PNG", ".png"), _filter("JPEG", ".jpg", ".jpeg"), _filter("WebP", ".webp")),
)


class FileDialogs:
    """Makes the dialogs; `settings()` are those in force and `keep(field=value)` changes them.

    A dialog is kept and opened again: taking one down waits for the thread that reads its folder,
    which holds the window up."""

    def __init__(self, settings: Callable[[], Settings], keep: Callable[..., None]) -> None:
        self._settings, self._keep = settings, keep
        self._made: dict[str, QFileDialog] = {}  # by title
        self._chosen: dict[str, Callable[[list[str]], object]] = {}

    def dialog(
        self,
        parent: QWidget,
        title: str,
        kind: Kind,
        mode: QFileDialog.FileMode,
        chosen: Callable[[list[str]], object],
        *places: Path,
    ) -> QFileDialog:
        """A dialog to be opened, which does not stop the stream; `chosen` gets the paths. It begins
        in the last folder of the kind, or in the first of `places` and the kind's own that
        exists."""
        self._chosen[title] = chosen
        made = self._made.get(title)
        if made is None or not isValid(made) or made.parent() is not parent:
            made = self._made[title] = QFileDialog(parent, title)
            made.setFileMode(mode)
            made.setOption(QFileDialog.Option.HideNameFilterDetails)
            if kind.filters:
                made.setNameFilters(kind.filters)
            made.filesSelected.connect(lambda names: self._take(title, kind, names))
            WindowGeometry(made)
        made.setDirectory(str(self.start(kind, *places)))
        return made

    def _take(self, title: str, kind: Kind, names: list[str]) -> None:
        self._remember(kind, Path(names[0]))
        self._chosen[title](names)

    def start(self, kind: Kind, *places: Path) -> Path:
        """The folder in which a dialog for `kind` begins."""
        kept = getattr(self._settings(), kind.setting)
        usual = [
            Path(name) for each in kind.places for name in QStandardPaths.standardLocations(each)
        ]
        wanted = [Path(kept), *places, *usual] if kept else [*places, *usual]
        return next((folder for folder in wanted if folder.is_dir()), Path.home())

    def _remember(self, kind: Kind, chosen: Path) -> None:
        self._keep(**{kind.setting: str(chosen.parent)})


def suggested_name(source: str, style: str) -> str:
    """ "holiday, Candy.png" of the title of a source and that of a style, with nothing in it that
    some system forbids in a name."""
    ending = Path(source).suffix
    if ending.lower() in (*PICTURES, *VIDEOS):
        source = source.removesuffix(ending)
    source, style = (re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]+', "_", text) for text in (source, style))
    words = f"{source[:LONGEST]}, {style[:LONGEST]}" if source else style[:LONGEST]
    return f"{words.strip(' .')}.png"
