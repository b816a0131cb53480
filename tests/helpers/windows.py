"""Windows of tests, shown and focused before the test begins."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


def show_window(window: QWidget, qtbot: QtBot) -> None:
    """Show a window and wait until it is exposed and active.

    A window manager does both with a delay, and until then key presses are lost.
    """
    with qtbot.waitExposed(window):
        window.show()
    with qtbot.waitActive(window):
        window.activateWindow()
