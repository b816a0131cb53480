"""Lets the user choose a source: files, folders, cameras, addresses, the clipboard's picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTemporaryDir
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu

from app.frame import SourceInfo
from app.sources import SOURCES
from app.sources.address import with_scheme
from app.sources.camera import CameraName, is_camera, parse_spec
from app.ui.file_dialogs import OPEN_FILES, OPEN_FOLDER, OPEN_STYLE
from app.ui.panel.panel import ControlPanel
from app.ui.widgets.option_box import Choice
from app.ui.window_context import WindowContext
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
    """Fills the panel's list and the menu of sources."""

    def __init__(self, context: WindowContext, panel: ControlPanel, menu: QMenu) -> None:
        super().__init__(context.window)
        self._context = context
        session = self._session = context.session
        self._panel, self._menu, self._actions = panel, menu, context.actions
        self._cameras: tuple[CameraName, ...] = ()
        self._used: dict[str, str] = {}  # specs of cameras used so far, by name
        self._address = ""  # the typed address while it opens
        self._pasted = QTemporaryDir()  # deleted with this object
        panel.sources.picked.connect(self.pick)
        panel.sources.entered.connect(self._open_address)
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
            self._actions[value.key].trigger()

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
            self._panel.sources.close_address(in_use=done)
            self._address = "" if done else self._address
        self._refresh(info)

    def _on_opening_failed(self) -> None:
        """Show the open source in the list again, and focus a failed address for correction."""
        self._refresh(self._session.info)
        if self._address:
            self._address = ""
            self._panel.sources.focus_failed_address()

    def _on_cameras_found(self, cameras: tuple[CameraName, ...]) -> None:
        self._cameras = cameras
        self._refresh(self._session.info)

    def _refresh(self, info: SourceInfo | None) -> None:
        current = self._session.spec if info is not None else None
        self._panel.sources.set_choices(self.choices(), current)

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
        self._context.ask_source(tr("Open pictures or a video"), OPEN_FILES, several)

    def ask_folder(self) -> None:
        """Ask for a folder of pictures; the stream continues."""
        one = QFileDialog.FileMode.Directory
        self._context.ask_source(tr("Open a folder of pictures"), OPEN_FOLDER, one)

    def ask_style(self, chosen: Callable[[Path], None]) -> None:
        """Ask for a style file and pass its path to `chosen`."""
        self._context.dialogs.ask(self._context.window, tr("Install a style"), OPEN_STYLE, chosen)

    def open_image(self, image: QImage) -> None:
        """Open a picture that is not a file; a job writes it to a temporary file."""
        path = str(Path(self._pasted.path()) / f"Pasted {time.strftime('%H.%M.%S')}.png")

        def work() -> str:
            if not image.save(path):
                raise OSError(f"the picture could not be written to {path}")
            return path

        self._session.run(work, self._session.open, failure="Could not paste the picture")

    def keep_pasted_of(self, earlier: SourceOpener) -> None:
        """Keep the pasted pictures of a window that this one replaces."""
        self._pasted = earlier._pasted

    def is_pasted(self, spec: str) -> bool:
        """Return whether the source is a temporary file, deleted when the program ends."""
        return spec.startswith(self._pasted.path())
