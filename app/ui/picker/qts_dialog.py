"""Qt's own dialog, for saving where the system has none: its icons, sizes and places."""

from __future__ import annotations

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QSplitter, QToolButton

from app.ui.picker.colors import tokens_in_use
from app.ui.theme.icons import icon

_SIZE = 860, 560
_SIDES = [180, 660]  # px, of the places and the folder
_ICONS = {  # by Qt's name of the button
    "backButton": "previous",
    "forwardButton": "next",
    "toParentButton": "up",
    "newFolderButton": "add",
    "listModeButton": "gallery",
    "detailModeButton": "queue",
}


def arrange(dialog: QFileDialog) -> None:
    """Give a new dialog room for the names of places and files."""
    dialog.resize(*_SIZE)
    splitter = dialog.findChild(QSplitter)
    assert splitter is not None
    splitter.setSizes(_SIDES)


def show_icons(dialog: QFileDialog) -> None:
    """Show icons in the theme's color, Qt's being black, and one primary button without any."""
    tokens = tokens_in_use()
    for name, ours in _ICONS.items():
        button = dialog.findChild(QToolButton, name)
        assert button is not None
        button.setIcon(icon(ours, tokens, tokens.text))
    box = dialog.findChild(QDialogButtonBox)
    assert box is not None
    for each in box.buttons():
        each.setIcon(QIcon())
        if box.buttonRole(each) == QDialogButtonBox.ButtonRole.AcceptRole:
            each.setProperty("role", "primary")
