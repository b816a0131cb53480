"""Lets the user choose a source: files, folders, cameras, addresses, the clipboard's picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTemporaryDir
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.frame import SourceInfo
from app.live.session import Session
from app.sources import SOURCES
from app.sources.address import with_scheme
from app.sources.camera import CameraName, is_camera, parse_spec
from app.ui.file_dialogs import OPEN_FILES, OPEN_FOLDER, OPEN_STYLE, FileDialogs
from app.ui.widgets.control_panel import ControlPanel
from app.ui.widgets.option_box import Choice
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class SourceCommand:
    """A command in the list of sources: the key of an action, or "cameras"."""

    key: str


# The action that asks for a source of this kind; other kinds need no input.
_ACTION_OF_KIND = {"address": "address", "folder": "open_folder", "file": "open"}


def camera_spec(camera: CameraName) -> str:
    """Return the spec by name, since plugging in another camera changes indices."""
    return f"camera:{camera.name or camera.index}"


class SourceOpener(QObject):
    """Fills the panel's list and the menu of sources; `act(key)` triggers an action."""

    def __init__(
        self,
        session: Session,
        panel: ControlPanel,
        menu: QMenu,
        act: Callable[[str], None],
        picker: FileDialogs,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._panel, self._menu, self._act = session, panel, menu, act
        self._picker = picker
        self._window = parent
        self._cameras: tuple[CameraName, ...] = ()
        self._used: dict[str, str] = {}  # specs of cameras used so far, by name
        self._address = ""  # the typed address while it opens
        self._pasted = QTemporaryDir()  # deleted with this object
        panel.source_picked.connect(self.pick)
        panel.address_entered.connect(self._open_address)
        session.cameras_found.connect(self._on_cameras_found)
        session.source_changed.connect(self._on_source_changed)
        session.opening_changed.connect(self._on_opening_changed)
        session.opening_failed.connect(self._on_opening_failed)
        menu.aboutToShow.connect(self._fill_menu)
        self._refresh(session.info)

    # List of sources

    def choices(self) -> list[Choice]:
        """Return the cameras, the other kinds in the order of SOURCES, and the open source."""
        made: list[Choice] = []
        for kind in SOURCES:
            if kind.key == "camera":
                made += [Choice(self._spec_of(c), c.name) for c in self._cameras]
                none = "" if self._cameras else tr("No camera found")
                made.append(Choice(SourceCommand("cameras"), tr("Search for cameras"), none))
            elif command := _ACTION_OF_KIND.get(kind.key):
                made.append(Choice(SourceCommand(command), f"{tr(kind.title)}..."))
            else:
                made.append(Choice(kind.key, tr(kind.title)))
        info, spec = self._session.info, self._session.spec
        if info is not None and all(choice.value != spec for choice in made):
            made.append(Choice(spec, info.title))
        return made

    def _spec_of(self, camera: CameraName) -> str:
        """Return the spec of a camera, with its last size and rate if it was open before."""
        return self._used.get(camera.name, camera_spec(camera))

    def pick(self, value: object) -> None:
        if not isinstance(value, SourceCommand):
            self._session.open(value)  # type: ignore[arg-type]  (choices() made it)
            return
        self._refresh(self._session.info)  # keep showing the open source in the list
        if value.key == "cameras":
            self._session.cameras()
        else:
            self._act(value.key)

    def _open_address(self, typed: str) -> None:
        address = with_scheme(typed)
        self._session.open(address)
        self._address = address

    def _on_opening_changed(self, opening: str) -> None:
        if opening:  # another source is opening
            self._address = ""

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        spec = self._session.spec
        if info is not None:
            if isinstance(spec, str) and is_camera(spec) and parse_spec(spec)[0] == info.title:
                self._used[info.title] = spec
            done = bool(self._address) and self._session.spec == self._address
            self._panel.close_address(in_use=done)
            self._address = "" if done else self._address
        self._refresh(info)

    def _on_opening_failed(self) -> None:
        """Show the open source in the list again, and focus a failed address for correction."""
        self._refresh(self._session.info)
        if self._address:
            self._address = ""
            self._panel.focus_failed_address()

    def _on_cameras_found(self, cameras: tuple[CameraName, ...]) -> None:
        self._cameras = cameras
        self._refresh(self._session.info)

    def _refresh(self, info: SourceInfo | None) -> None:
        current = self._session.spec if info is not None else None
        self._panel.set_sources(self.choices(), current)

    def _fill_menu(self) -> None:
        self._menu.clear()
        for choice in self.choices():
            action = self._menu.addAction(choice.title)
            action.setCheckable(not isinstance(choice.value, SourceCommand))
            action.setChecked(self._session.info is not None and choice.value == self._session.spec)
            action.triggered.connect(lambda _=False, value=choice.value: self.pick(value))

    # Dialogs

    def ask_files(self) -> None:
        """Ask for a picture or video, or several pictures as a strip; the stream continues."""
        several = QFileDialog.FileMode.ExistingFiles

        def chosen(names: list[str]) -> None:
            self._session.open(names[0] if len(names) == 1 else list(names))

        title = tr("Open pictures or a video")
        self._picker.dialog(self._window, title, OPEN_FILES, several, chosen).open()

    def ask_folder(self) -> None:
        """Ask for a folder of pictures; the stream continues."""
        one = QFileDialog.FileMode.Directory
        title = tr("Open a folder of pictures")
        self._picker.dialog(
            self._window, title, OPEN_FOLDER, one, lambda names: self._session.open(names[0])
        ).open()

    def ask_style(self, chosen: Callable[[Path], None]) -> None:
        """Ask for a style file and pass its path to `chosen`."""
        one = QFileDialog.FileMode.ExistingFile
        self._picker.dialog(
            self._window,
            tr("Install a style"),
            OPEN_STYLE,
            one,
            lambda names: chosen(Path(names[0])),
        ).open()

    def open_image(self, image: QImage) -> None:
        """Open a picture that is not a file; a job writes it to a temporary file."""
        path = str(Path(self._pasted.path()) / f"Pasted {time.strftime('%H.%M.%S')}.png")

        def work() -> str:
            if not image.save(path):
                raise OSError(f"the picture could not be written to {path}")
            return path

        self._session.run(work, self._session.open, failure="Could not paste the picture")

    def is_pasted(self, spec: str) -> bool:
        """Return whether the source is a temporary file, deleted when the program ends."""
        return spec.startswith(self._pasted.path())
