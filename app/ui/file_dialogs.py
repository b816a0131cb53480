"""File dialogs that remember the last folder for each kind of file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QStandardPaths, QUrl
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from app.settings import Settings
from app.ui.window_geometry import WindowGeometry
from utils.files.names import portable_name
from utils.images.moving import FILM_ENDINGS
from utils.translation.texts import mark, tr

Place = QStandardPaths.StandardLocation
MAX_NAME = 120  # characters of a suggested name; file systems allow 255 bytes

PICTURES = (
    *(".png", ".jpg", ".jpeg", ".jfif", ".webp", ".avif", ".heic", ".heif", ".gif", ".bmp", ".tif"),
    *(".tiff", ".tga", ".ppm", ".pgm", ".pnm", ".jp2", ".ico", ".psd", ".dds", ".qoi"),
)
VIDEOS = FILM_ENDINGS

Filter = tuple[str, tuple[str, ...]]  # English title of a kind of files, and its extensions


def name_filter(title: str, *endings: str) -> str:
    """Return a name filter such as "MP4 (*.mp4)", with its title in the chosen language."""
    return f"{tr(title)} ({' '.join(f'*{ending}' for ending in endings)})"


_ALL: Filter = (mark("All files"), ("",))
_PICTURES: Filter = (mark("Pictures"), PICTURES)
_STYLES = mark("Styles")


@dataclass(frozen=True, slots=True)
class FileKind:
    """The purpose of a file dialog.

    Attributes:
        setting: The field of Settings that stores the last folder.
        places: Standard locations to start in without a last folder.
        filters: The name filters; the first is selected.
    """

    setting: str
    places: tuple[Place, ...]
    filters: tuple[Filter, ...] = ()


_FILES = (Place.PicturesLocation, Place.MoviesLocation)
OPEN_FILES = FileKind(
    "open_folder",
    _FILES,
    (
        (mark("Pictures and videos"), (*PICTURES, *VIDEOS)),
        _PICTURES,
        (mark("Videos"), VIDEOS),
        _ALL,
    ),
)
OPEN_PICTURE = FileKind("open_folder", _FILES, (_PICTURES, _ALL))
OPEN_FILM = FileKind("open_folder", (Place.MoviesLocation,), ((mark("Films"), VIDEOS), _ALL))
OPEN_FOLDER = FileKind("open_folder", _FILES)
QUEUE_FOLDER = FileKind("queue_folder", _FILES)
PAINT_FOLDER = FileKind("save_folder", _FILES)
OPEN_STYLE = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    ((_STYLES, (".styleforge", ".pth", ".pt", ".safetensors")), _ALL),
)
OPEN_WEIGHTS = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    ((mark("Weights"), (".pth", ".pt", ".safetensors")), _ALL),
)
OPEN_MATTE = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    ((mark("Networks and pictures"), (".onnx", *PICTURES)), _ALL),
)
SAVE_STYLE = FileKind("weights_folder", (Place.DocumentsLocation,), ((_STYLES, (".styleforge",)),))
SAVE_FILM = FileKind(
    "save_folder",
    (Place.MoviesLocation,),
    (_ALL,),  # the caller sets the codec's filters
)
SAVE_PICTURE = FileKind(
    "save_folder",
    (Place.PicturesLocation,),
    (
        ("PNG", (".png",)),
        ("JPEG", (".jpg", ".jpeg")),
        ("WebP", (".webp",)),
        ("TIFF", (".tif", ".tiff")),
    ),
)


class FileDialogs:
    """Creates file dialogs; `settings()` returns the settings and `keep(field=value)` changes them.

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
        """Return a modeless dialog, ready to open.

        Args:
            title: Identifies the dialog.
            chosen: Called with the chosen paths.
            places: Folders to start in if no last folder of this kind is stored.
        """
        self._chosen[title] = chosen
        made = self._made.get(title)
        if made is None or not isValid(made) or made.parent() is not parent:
            made = self._made[title] = QFileDialog(parent, title)
            made.setFileMode(mode)
            made.setOption(QFileDialog.Option.HideNameFilterDetails)
            if kind.filters:
                made.setNameFilters([name_filter(name, *endings) for name, endings in kind.filters])
            made.setSidebarUrls([QUrl.fromLocalFile(str(folder)) for folder in usual_folders()])
            made.filesSelected.connect(lambda names: self._on_selected(title, kind, names))
            WindowGeometry(made)
        made.setDirectory(str(self.start_folder(kind, *places)))
        return made

    def ask(
        self, parent: QWidget, title: str, kind: FileKind, chosen: Callable[[Path], object]
    ) -> None:
        """Open a dialog for one existing file; arguments as for `dialog`."""
        mode = QFileDialog.FileMode.ExistingFile
        self.dialog(parent, title, kind, mode, lambda names: chosen(Path(names[0]))).open()

    def saving(
        self,
        parent: QWidget,
        title: str,
        kind: FileKind,
        chosen: Callable[[Path], object],
        *places: Path,
    ) -> QFileDialog:
        """Return a dialog for a file to write, ready to open; arguments as for `dialog`."""
        mode = QFileDialog.FileMode.AnyFile
        made = self.dialog(parent, title, kind, mode, lambda names: chosen(Path(names[0])), *places)
        made.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        return made

    def _on_selected(self, title: str, kind: FileKind, names: list[str]) -> None:
        if kind is not QUEUE_FOLDER:  # the folder itself is the setting
            self._remember(kind, Path(names[0]))
        self._chosen[title](names)

    def start_folder(self, kind: FileKind, *places: Path) -> Path:
        kept = getattr(self._settings(), kind.setting)
        usual = [
            Path(name) for each in kind.places for name in QStandardPaths.standardLocations(each)
        ]
        wanted = [Path(kept), *places, *usual] if kept else [*places, *usual]
        return next((folder for folder in wanted if folder.is_dir()), Path.home())

    def _remember(self, kind: FileKind, chosen: Path) -> None:
        self._keep(**{kind.setting: str(chosen.parent)})


def usual_folders() -> list[Path]:
    """Return Qt's side bar folders that exist: home, pictures, films, downloads, documents."""
    places = (
        *(Place.HomeLocation, Place.PicturesLocation, Place.MoviesLocation),
        *(Place.DownloadLocation, Place.DocumentsLocation),
    )
    found = [Path(name) for each in places for name in QStandardPaths.standardLocations(each)[:1]]
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def suggested_name(source: str, style: str) -> str:
    """Return a file name such as "holiday, Candy.png", valid on every system."""
    ending = Path(source).suffix
    if ending.lower() in (*PICTURES, *VIDEOS):
        source = source.removesuffix(ending)
    words = f"{source[:MAX_NAME]}, {style[:MAX_NAME]}" if source else style[:MAX_NAME]
    return f"{portable_name(words)}.png"
