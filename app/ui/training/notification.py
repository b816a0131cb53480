"""Announces the end of a training on the desktop, if supported."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

SHOWN_MS = 15_000  # desktops may show it more briefly


class Notification(QObject):
    """Shows a desktop message while `window` is not active."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._icon: QSystemTrayIcon | None = None

    def show(self, title: str, text: str) -> bool:
        """Show a message and mark the window in the task bar.

        Returns:
            Whether the desktop shows the message; otherwise the window's own bar must.
        """
        if QApplication.activeWindow() is not None:
            return False  # the user sees the window's bar
        QApplication.alert(self._window)
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            return False
        if self._icon is None:
            self._icon = QSystemTrayIcon(self._window.windowIcon(), self)
            self._icon.messageClicked.connect(self._raise_window)
        self._icon.show()
        self._icon.showMessage(title, text, self._window.windowIcon(), SHOWN_MS)
        QTimer.singleShot(SHOWN_MS, self._icon, self._icon.hide)
        return True

    def _raise_window(self) -> None:
        if self._window.isMinimized():
            self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()
