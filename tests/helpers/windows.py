"""Windows of tests, which begin when their window is on screen and has the keyboard."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


def show_window(window: QWidget, qtbot: QtBot) -> None:
    """Show a window and wait until it is exposed and active.

    A window manager does both a moment after it was asked, and keys go nowhere before.
    """
    with qtbot.waitExposed(window):
        window.show()
    with qtbot.waitActive(window):
        window.activateWindow()
