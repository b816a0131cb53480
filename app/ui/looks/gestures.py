"""Counts the gestures on sliders, so that what one of them changes is undone at once."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

BURST_MS = 700  # between presses of a key that belong together, at most


class Gestures(QObject):
    """Watches controls: from a press of the mouse to its release is a gesture, a double click
    belongs to the click before it, and so does a key to the same key a moment ago.

    Args:
        controls: The sliders.
        parent: Of the QObject.
    """

    def __init__(self, controls: Iterable[QWidget], parent: QObject) -> None:
        super().__init__(parent)
        self._count = 0
        self._pressed = False
        self._key: tuple[QObject, int] | None = None  # and where it was pressed
        self._burst = QTimer(self, interval=BURST_MS, singleShot=True)
        self._burst.timeout.connect(self._end)
        for control in controls:
            control.installEventFilter(self)

    @property
    def current(self) -> int | None:
        """The number of the gesture under way; None for none."""
        return self._count if self._pressed or self._key is not None else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the mouse and the keys; every event goes on to its control."""
        match event.type():
            case QEvent.Type.MouseButtonPress:
                self._begin()
                self._pressed = True
            case QEvent.Type.MouseButtonDblClick:
                self._pressed = True
            case QEvent.Type.MouseButtonRelease | QEvent.Type.Hide:
                self._pressed = False
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
