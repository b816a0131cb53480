"""Keys that a focused control handles before they become shortcuts of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QComboBox,
    QTabBar,
    QWidget,
)

_PAGES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_OWN_KEYS: tuple[tuple[type[QWidget], tuple[Qt.Key, ...]], ...] = (
    (QAbstractButton, (Qt.Key.Key_Space,)),
    (QComboBox, (Qt.Key.Key_Space, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)),
    (QAbstractSlider, _PAGES),
    (QAbstractItemView, _PAGES),
    (QTabBar, (Qt.Key.Key_Left, Qt.Key.Key_Right)),
)


def is_own_key(event: QEvent, window: QWidget) -> bool:
    """Return whether `event` is a ShortcutOverride for a key that the focused control handles."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    focused = window.focusWidget()
    return any(isinstance(focused, kind) and event.key() in keys for kind, keys in _OWN_KEYS)
