"""Finds the file dialog that is open, and chooses in it as a user does."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.ui.picker import PickerDialog


def open_dialogs(window: QWidget) -> list[QFileDialog | PickerDialog]:
    found = [*window.findChildren(QFileDialog), *window.findChildren(PickerDialog)]
    return [each for each in found if each.isVisible()]


def open_picker(window: QWidget) -> PickerDialog:
    [dialog] = open_dialogs(window)
    assert isinstance(dialog, PickerDialog)
    return dialog


def select(picker: PickerDialog, qtbot: QtBot, *paths: Path) -> None:
    """Go to files as a drop does, and wait until they are selected."""
    picker.reveal(paths)
    wanted = set(paths)
    qtbot.waitUntil(lambda: {entry.path for entry in picker.chosen} == wanted)


def choose(dialog: QFileDialog | PickerDialog, path: Path, qtbot: QtBot) -> None:
    if isinstance(dialog, QFileDialog):
        dialog.selectFile(str(path))
        dialog.accept()
        return
    select(dialog, qtbot, path)
    qtbot.keyClick(dialog.grid, Qt.Key.Key_Return)


def folder_of(dialog: QFileDialog | PickerDialog) -> Path:
    if isinstance(dialog, QFileDialog):
        return Path(dialog.directory().absolutePath())
    assert dialog.folder is not None
    return dialog.folder
