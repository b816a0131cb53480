"""The window before there is anything to put into it; knows no PyTorch, which takes seconds."""

from __future__ import annotations

import time

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.settings import Settings
from app.ui.theme.icons import application_icon
from app.ui.theme.theme import Theme
from app.ui.viewport.text_painting import draw_card
from app.ui.window_geometry import WindowGeometry

SIZE = (1280, 800)  # of the window on its first start, where the screen is large enough
STARTING = "StyleForge is starting"
PATIENCE_S = 1.0  # for the system to show the window that takes over


class StartupView(QWidget):
    """Says so, where the window will be: at the place and in the theme that `settings` keep."""

    def __init__(self, app: QApplication, settings: Settings) -> None:
        super().__init__()
        self.setWindowTitle("StyleForge")
        self.setWindowIcon(application_icon())
        self.setAccessibleName(STARTING)
        self.resize(*SIZE)
        if settings.geometry:
            self.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode()))
        WindowGeometry(self)
        Theme(app, self, settings.theme).dress(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self.palette().dark())
        draw_card(painter, self.rect(), STARTING, "")

    def give_way_to(self, window: QWidget) -> None:
        """Show `window` in this one's place, and close this one once that is on screen."""
        window.restoreGeometry(self.saveGeometry())
        window.show()
        handle, end = window.windowHandle(), time.perf_counter() + PATIENCE_S
        while not handle.isExposed() and time.perf_counter() < end:
            QApplication.processEvents()
        self.close()
        self.deleteLater()
