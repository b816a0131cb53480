"""Keeps a window with its frame inside the available area of its screen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QObject, QTimer
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QWidget

ASSUMED_FRAME = QMargins(4, 36, 4, 4)  # approximate frame size until the system has drawn the frame


def fit_to_screen(window: QWidget) -> None:
    """Shrink `window` to the available area of its screen; move it inside once its frame is known.

    The system manages maximized and full-screen windows.
    """
    if window.isFullScreen() or window.isMaximized() or window.isMinimized():
        return
    inside = window.screen().availableGeometry().marginsRemoved(_frame(window))
    place = window.geometry()
    if place.width() > inside.width() or place.height() > inside.height():
        window.resize(place.size().boundedTo(inside.size()))
        place = window.geometry()
    corner = place.topLeft()
    corner.setX(max(inside.left(), min(corner.x(), inside.right() + 1 - place.width())))
    corner.setY(max(inside.top(), min(corner.y(), inside.bottom() + 1 - place.height())))
    if _is_exposed(window) and corner != place.topLeft():
        place.moveTopLeft(corner)
        window.setGeometry(place)


class WindowGeometry(QObject):
    """Fits `window` before it is shown, once its frame is known, and after screen changes."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._painted = False  # painted once, so the frame is known
        self._screen_connected = False
        window.installEventFilter(self)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        for screen in app.screens():
            self._watch(screen)
        app.screenAdded.connect(self._watch)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the window when it is shown, painted for the first time or restored."""
        kind = event.type()
        if kind == QEvent.Type.Show:
            fit_to_screen(self._window)
            handle = self._window.windowHandle()
            if handle is not None and not self._screen_connected:
                self._screen_connected = True
                handle.screenChanged.connect(self._fit_soon)
        elif kind == QEvent.Type.Paint and not self._painted:
            self._painted = True
            self._fit_soon()
        elif kind == QEvent.Type.WindowStateChange:
            self._fit_soon()
        return False

    def _watch(self, screen: QScreen) -> None:
        screen.availableGeometryChanged.connect(self._fit_soon)

    def _fit_soon(self) -> None:
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        if self._window.isVisible():
            fit_to_screen(self._window)


def _frame(window: QWidget) -> QMargins:
    handle = window.windowHandle()
    margins = handle.frameMargins() if handle is not None else QMargins()
    return ASSUMED_FRAME if margins.isNull() and not _is_exposed(window) else margins


def _is_exposed(window: QWidget) -> bool:
    handle = window.windowHandle()
    return handle is not None and handle.isExposed()
