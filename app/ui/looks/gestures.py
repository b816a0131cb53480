"""Numbers slider gestures, so that all changes of one gesture are undone together."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

BURST_MS = 700  # maximum time between presses of a key in one gesture


class Gestures(QObject):
    """Watches controls for gestures.

    A gesture lasts from mouse press to release. A double click joins the preceding click, and a key
    joins a recent press of the same key.
    """

    def __init__(self, controls: Iterable[QWidget], parent: QObject) -> None:
        super().__init__(parent)
        self._count = 0
        self._pressed = False
        self._key: tuple[QObject, int] | None = None  # the control and its key
        self._burst = QTimer(self, interval=BURST_MS, singleShot=True)
        self._burst.timeout.connect(self._end)
        for control in controls:
            self.watch(control)

    def watch(self, control: QWidget) -> None:
        control.installEventFilter(self)

    @property
    def current(self) -> int | None:
        return self._count if self._pressed or self._key is not None else None

    def press(self) -> None:
        """Begin a gesture that no watched control sees; `release` ends it."""
        self._begin()
        self._pressed = True

    def release(self) -> None:
        self._pressed = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Track mouse and keys; every event still reaches its control."""
        match event.type():
            case QEvent.Type.MouseButtonPress:
                self.press()
            case QEvent.Type.MouseButtonDblClick:
                self._pressed = True
            case QEvent.Type.MouseButtonRelease | QEvent.Type.Hide:
                self.release()
            case QEvent.Type.FocusOut:
                self._end()
            case QEvent.Type.ShortcutOverride | QEvent.Type.KeyPress if isinstance(
                event, QKeyEvent
            ):
                self._press_key(watched, event.key())
            case _:
                pass
        return False

    def _press_key(self, watched: QObject, key: int) -> None:
        if self._key != (watched, key):
            self._begin()
            self._key = (watched, key)
        self._burst.start()

    def _begin(self) -> None:
        self._end()
        self._count += 1

    def _end(self) -> None:
        self._key = None
        self._burst.stop()
