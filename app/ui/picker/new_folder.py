"""Makes a folder in the shown one: a button, and in its place a field for the name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.background_jobs import RunJob
from app.ui.layouts import described, fill
from app.ui.widgets.message_bars import make_button
from utils.files.names import is_device
from utils.text import printable
from utils.translation.texts import tr

_NOT_IN_NAMES = '/\\\0<>:"|?*' if sys.platform == "win32" else "/\0"
_LETTERS = 28  # width of the field
_MOST_SHOWN = 80  # letters of a name in a message


class NewFolder(QWidget):
    """Asks for a name, and makes the folder in the background.

    Signals:
        made: Carries the new folder.
        refused: Carries why there is none, as a sentence; "" once that no longer matters.

    Args:
        place: Returns the folder to make it in.
    """

    made = Signal(object)
    refused = Signal(str)

    def __init__(
        self, place: Callable[[], Path | None], run: RunJob, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._place, self._run = place, run
        self.button = make_button(
            tr("&New folder"), tr("Make a folder in this one (Ctrl+Shift+N)"), self.ask
        )
        self.button.setAutoDefault(False)
        self.name = described(
            _NameField(self._make, self.leave, self),
            tr("Name of the new folder"),
            tr("Name of the new folder; Enter makes it, Esc leaves it"),
        )
        self.name.setFixedWidth(_LETTERS * self.fontMetrics().averageCharWidth())
        self.name.hide()
        fill(QHBoxLayout(self), self.button, self.name, margins=(0, 0, 0, 0), spacing=0)

    def ask(self) -> None:
        """Show the field, with a name to write over."""
        if self.isEnabled():
            self.name.setText(tr("New folder"))
            self._show_field(shown=True)
            self.name.selectAll()
            self.name.setFocus()

    def leave(self) -> None:
        """Make no folder."""
        self._show_field(shown=False)
        self.refused.emit("")
        self.button.setFocus()

    def _show_field(self, *, shown: bool) -> None:
        self.name.setVisible(shown)
        self.button.setVisible(not shown)

    def _make(self) -> None:
        place, name = self._place(), self.name.text()
        if place is None:
            return

        def done(made: Path | str) -> None:
            if isinstance(made, str):
                self.refused.emit(made)
            elif self._place() == place:
                self._show_field(shown=False)
                self.made.emit(made)

        self._run(lambda: make_folder(place, name), done, failure="Could not make a folder")


def make_folder(place: Path, name: str) -> Path | str:
    """Make a folder in `place`, and return its path, or a sentence that says why there is none."""
    name = name.strip()
    shown = printable(name, _MOST_SHOWN)
    device = sys.platform == "win32" and is_device(name)
    if device or name in ("", ".", "..") or any(letter in _NOT_IN_NAMES for letter in name):
        return tr("A folder cannot be called '{name}'", name=shown)
    path = place / name
    try:
        path.mkdir()
    except FileExistsError:
        return tr("There is already a file or folder '{name}'", name=shown)
    except OSError as exc:
        why = exc.strerror or str(exc)
        return tr("Could not make the folder '{name}': {error}", name=shown, error=why)
    return path


class _NameField(QLineEdit):
    """Keeps Enter and Esc from the dialog's own buttons."""

    def __init__(
        self, enter: Callable[[], object], escape: Callable[[], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._enter, self._escape = enter, escape

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._enter()
        elif event.key() == Qt.Key.Key_Escape:
            self._escape()
        else:
            super().keyPressEvent(event)
