"""Keeps a window on the screen it is on, with its frame, whatever that screen is or becomes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QObject, QTimer
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QWidget

UNKNOWN = QMargins(4, 36, 4, 4)  # about what a frame takes, until the system has drawn it


def fit(window: QWidget) -> None:
    """Make `window` no larger than the available part of its screen, and once it is shown, with a
    frame of known size, move it inside. A maximized window or one in full screen is the system's
    to place."""
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
    """Fits `window` for as long as that lives: before it is shown, once its frame is known, and
    whenever it gets to another screen or its screen shrinks."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._framed = False  # its frame has been seen
        self._watched = False  # its changes of screen are
        window.installEventFilter(self)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        for screen in app.screens():
            self._watch(screen)
        app.screenAdded.connect(self._watch)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Show:
            fit(self._window)
            handle = self._window.windowHandle()
            if handle is not None and not self._watched:
                self._watched = True
                handle.screenChanged.connect(self._fit_soon)
        elif kind == QEvent.Type.Paint and not self._framed:
            self._framed = True
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
            fit(self._window)


def _frame(window: QWidget) -> QMargins:
    handle = window.windowHandle()
    margins = handle.frameMargins() if handle is not None else QMargins()
    return UNKNOWN if margins.isNull() and not _is_exposed(window) else margins


def _is_exposed(window: QWidget) -> bool:
    handle = window.windowHandle()
    return handle is not None and handle.isExposed()
