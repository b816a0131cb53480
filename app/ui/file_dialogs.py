"""File dialogs that remember the last folder for each kind of file.

Where the system has no dialog of its own, files and folders are opened with the program's picker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QStandardPaths, QUrl
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from app.background_jobs import RunJob
from app.settings import Settings
from app.ui.picker import PickerDialog
from app.ui.picker.qts_dialog import arrange, show_icons
from app.ui.picker.system import is_native, system_has_dialogs
from app.ui.window_geometry import WindowGeometry
from utils.files.names import portable_name
from utils.images.moving import FILM_ENDINGS
from utils.translation.texts import mark, tr

Place = QStandardPaths.StandardLocation
FileMode = QFileDialog.FileMode
MAX_NAME = 120  # characters of a suggested name; file systems allow 255 bytes
MOST_RECENT = 60  # paths

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
OPEN_MATTE_NETWORK = FileKind(
    "weights_folder",
    (Place.DownloadLocation,),
    ((mark("Networks (ONNX)"), (".onnx",)), _ALL),
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

    Attributes:
        of_the_system: Whether the system has dialogs of its own; None before the first one.
    """

    def __init__(
        self, settings: Callable[[], Settings], keep: Callable[..., None], run: RunJob
    ) -> None:
        self._settings, self._keep, self._run = settings, keep, run
        self._made: dict[str, QFileDialog | PickerDialog] = {}  # by title
        self._chosen: dict[str, Callable[[list[str]], object]] = {}
        self.of_the_system: bool | None = None

    def dialog(
        self,
        parent: QWidget,
        title: str,
        kind: FileKind,
        mode: FileMode,
        chosen: Callable[[list[str]], object],
        *places: Path,
    ) -> QFileDialog | PickerDialog:
        """Return a modeless dialog for existing files or a folder, ready to open.

        Args:
            title: Identifies the dialog.
            chosen: Called with the chosen paths.
            places: Folders to start in if no last folder of this kind is stored.
        """
        if self.of_the_system is None:
            self.of_the_system = system_has_dialogs()
        made = self._made_before(parent, title)
        if made is None and self.of_the_system:
            made = self._qts_dialog(parent, title, kind, mode)
            if not is_native(made):  # the portal's theme has a dialog only where a portal runs
                self.of_the_system, made = False, None
        if made is None:
            kinds = [(tr(name), endings) for name, endings in kind.filters]
            made = self._made[title] = PickerDialog(
                title, mode, kinds, self._recent, self._run, parent
            )
            made.filesSelected.connect(lambda names: self._on_picked(title, kind, mode, names))
        self._chosen[title] = chosen
        made.setDirectory(str(self.start_folder(kind, *places)))
        return made

    def ask(
        self, parent: QWidget, title: str, kind: FileKind, chosen: Callable[[Path], object]
    ) -> None:
        """Open a dialog for one existing file; arguments as for `dialog`."""
        mode = FileMode.ExistingFile
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
        made = self._made_before(parent, title)
        if not isinstance(made, QFileDialog):
            made = self._qts_dialog(parent, title, kind, FileMode.AnyFile)
            made.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        if not is_native(made):
            show_icons(made)
        self._chosen[title] = lambda names: chosen(Path(names[0]))
        made.setDirectory(str(self.start_folder(kind, *places)))
        return made

    def _made_before(self, parent: QWidget, title: str) -> QFileDialog | PickerDialog | None:
        made = self._made.get(title)
        return made if made is not None and isValid(made) and made.parent() is parent else None

    def _qts_dialog(
        self, parent: QWidget, title: str, kind: FileKind, mode: FileMode
    ) -> QFileDialog:
        """Return the system's dialog, or Qt's own if the system has none."""
        made = self._made[title] = QFileDialog(parent, title)
        made.setFileMode(mode)
        made.setOption(QFileDialog.Option.HideNameFilterDetails)
        if kind.filters:
            made.setNameFilters([name_filter(name, *endings) for name, endings in kind.filters])
        made.setSidebarUrls([QUrl.fromLocalFile(str(folder)) for folder in usual_folders()])
        made.filesSelected.connect(lambda names: self._on_selected(title, kind, mode, names))
        if not is_native(made):
            arrange(made)
        WindowGeometry(made)
        return made

    def _on_picked(self, title: str, kind: FileKind, mode: FileMode, names: list[str]) -> None:
        """Add what the picker chose to its recent files."""
        before = self._settings().recent_files.split("\n")
        new = [name for name in names if "\n" not in name]
        recent = list(dict.fromkeys(filter(None, (*new, *before))))
        self._keep(recent_files="\n".join(recent[:MOST_RECENT]))
        self._on_selected(title, kind, mode, names)

    def _recent(self) -> list[Path]:
        return [Path(name) for name in self._settings().recent_files.split("\n") if name]

    def _on_selected(self, title: str, kind: FileKind, mode: FileMode, names: list[str]) -> None:
        if kind is not QUEUE_FOLDER:  # its setting is no memory, but where results go
            chosen = Path(names[0])
            folder = chosen if mode is FileMode.Directory else chosen.parent
            self._keep(**{kind.setting: str(folder)})
        self._chosen[title](names)

    def start_folder(self, kind: FileKind, *places: Path) -> Path:
        kept = getattr(self._settings(), kind.setting)
        usual = [
            Path(name) for each in kind.places for name in QStandardPaths.standardLocations(each)
        ]
        wanted = [Path(kept), *places, *usual] if kept else [*places, *usual]
        return next((folder for folder in wanted if folder.is_dir()), Path.home())


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
