"""The window shown while PyTorch is loaded; imports nothing slow."""

from __future__ import annotations

import time

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.settings import Settings
from app.ui.theme.icons import application_icon
from app.ui.theme.theme import Theme
from app.ui.viewport.text_painting import draw_card, smooth_painter
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import mark, tr

INITIAL_SIZE = (1280, 800)  # in pixels, if the screen is large enough
STARTING_TEXT = mark("StyleForge is starting")
EXPOSE_TIMEOUT_S = 1.0  # wait until the main window is on screen


class StartupView(QWidget):
    """Shows that the program is starting, with the stored geometry and theme."""

    def __init__(self, app: QApplication, settings: Settings) -> None:
        super().__init__()
        self.setWindowTitle(tr("StyleForge"))
        self.setWindowIcon(application_icon())
        self.setAccessibleName(tr(STARTING_TEXT))
        self.resize(*INITIAL_SIZE)
        if settings.geometry:
            self.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode()))
        WindowGeometry(self)
        Theme(app, self, settings.theme).add_widget(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.fillRect(self.rect(), self.palette().dark())
        draw_card(painter, self.rect(), tr(STARTING_TEXT), "")

    def hand_over_to(self, window: QWidget) -> None:
        """Show `window` in place of this one, and close this one once `window` is on screen."""
        window.restoreGeometry(self.saveGeometry())
        window.show()
        handle, end = window.windowHandle(), time.perf_counter() + EXPOSE_TIMEOUT_S
        while not handle.isExposed() and time.perf_counter() < end:
            QApplication.processEvents()
        self.close()
        self.deleteLater()
