"""File dialogs that remember the last folder for each kind of file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from app.batch.description import FILM_ENDINGS
from app.settings import Settings
from app.ui.window_geometry import WindowGeometry

Place = QStandardPaths.StandardLocation
MAX_NAME = 120  # characters of a suggested name; file systems allow 255 bytes

_PICTURES = (
    "png jpg jpeg jfif webp avif heic heif gif bmp tif tiff tga ppm pgm pnm jp2 ico psd dds qoi"
)
PICTURES, VIDEOS = tuple(f".{each}" for each in _PICTURES.split()), FILM_ENDINGS


def name_filter(title: str, *endings: str) -> str:
    """Return a name filter of a dialog, such as "MP4 (*.mp4)"."""
    return f"{title} ({' '.join(f'*{ending}' for ending in endings)})"


_ALL = "All files (*)"


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a dialog is for.

    Attributes:
        setting: the field of Settings with the last folder.
        places: standard locations to start in, if there is no last folder.
        filters: name filters; the first is selected.
    """

    setting: str
    places: tuple[Place, ...]
    filters: tuple[str, ...] = ()


_FILES = (Place.PicturesLocation, Place.MoviesLocation)
OPEN_FILES = FileKind(
    "open_folder",
    _FILES,
    (
        name_filter("Pictures and videos", *PICTURES, *VIDEOS),
        name_filter("Pictures", *PICTURES),
        name_filter("Videos", *VIDEOS),
        _ALL,
    ),
)
OPEN_PICTURE = FileKind("open_folder", _FILES, (name_filter("Pictures", *PICTURES), _ALL))
OPEN_FILM = FileKind("open_folder", (Place.MoviesLocation,), (name_filter("Films", *VIDEOS), _ALL))
OPEN_FOLDER = FileKind("open_folder", _FILES)
QUEUE_FOLDER = FileKind("queue_folder", _FILES)
OPEN_STYLE = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    (name_filter("Styles", ".styleforge", ".pth", ".pt", ".safetensors"), _ALL),
)
OPEN_WEIGHTS = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    (name_filter("Weights", ".pth", ".pt", ".safetensors"), _ALL),
)
SAVE_STYLE = FileKind(
    "weights_folder", (Place.DocumentsLocation,), (name_filter("Styles", ".styleforge"),)
)
SAVE_FILM = FileKind(
    "save_folder",
    (Place.MoviesLocation,),
    (_ALL,),  # those of the codec are set by who asks
)
SAVE_PICTURE = FileKind(
    "save_folder",
    (Place.PicturesLocation,),
    (
        name_filter("PNG", ".png"),
        name_filter("JPEG", ".jpg", ".jpeg"),
        name_filter("WebP", ".webp"),
        name_filter("TIFF", ".tif", ".tiff"),
    ),
)


class FileDialogs:
    """Makes file dialogs; `settings()` returns the settings and `keep(field=value)` changes them.

    Dialogs are reused: destroying one waits for the thread that reads its folder and blocks the
    window.
    """

    def __init__(self, settings: Callable[[], Settings], keep: Callable[..., None]) -> None:
        self._settings, self._keep = settings, keep
        self._made: dict[str, QFileDialog] = {}  # by title
        self._chosen: dict[str, Callable[[list[str]], object]] = {}

    def dialog(
        self,
        parent: QWidget,
        title: str,
        kind: FileKind,
        mode: QFileDialog.FileMode,
        chosen: Callable[[list[str]], object],
        *places: Path,
    ) -> QFileDialog:
        """Return a dialog to be opened; it is not modal.

        Args:
            parent: owns the dialog.
            title: identifies the dialog.
            kind: what the dialog is for.
            mode: Qt's file mode.
            chosen: called with the chosen paths.
            places: folders to start in, if there is no last folder of this kind.
        """
        self._chosen[title] = chosen
        made = self._made.get(title)
        if made is None or not isValid(made) or made.parent() is not parent:
            made = self._made[title] = QFileDialog(parent, title)
            made.setFileMode(mode)
            made.setOption(QFileDialog.Option.HideNameFilterDetails)
            if kind.filters:
                made.setNameFilters(kind.filters)
            made.filesSelected.connect(lambda names: self._on_selected(title, kind, names))
            WindowGeometry(made)
        made.setDirectory(str(self.start_folder(kind, *places)))
        return made

    def _on_selected(self, title: str, kind: FileKind, names: list[str]) -> None:
        if kind is not QUEUE_FOLDER:  # the folder itself is the setting
            self._remember(kind, Path(names[0]))
        self._chosen[title](names)

    def start_folder(self, kind: FileKind, *places: Path) -> Path:
        """Return the folder in which a dialog for `kind` starts."""
        kept = getattr(self._settings(), kind.setting)
        usual = [
            Path(name) for each in kind.places for name in QStandardPaths.standardLocations(each)
        ]
        wanted = [Path(kept), *places, *usual] if kept else [*places, *usual]
        return next((folder for folder in wanted if folder.is_dir()), Path.home())

    def _remember(self, kind: FileKind, chosen: Path) -> None:
        self._keep(**{kind.setting: str(chosen.parent)})


def suggested_name(source: str, style: str) -> str:
    """Return a file name such as "holiday, Candy.png", valid on every system."""
    ending = Path(source).suffix
    if ending.lower() in (*PICTURES, *VIDEOS):
        source = source.removesuffix(ending)
    source, style = (re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]+', "_", text) for text in (source, style))
    words = f"{source[:MAX_NAME]}, {style[:MAX_NAME]}" if source else style[:MAX_NAME]
    return f"{words.strip(' .')}.png"
