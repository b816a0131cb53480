"""Marks the control that got the focus from the keyboard, for the style sheet."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QTabBar,
    QWidget,
)

KEYS = "keys"  # the property, "true" in the style sheet
_FRAMED = (QAbstractButton, QAbstractSlider, QTabBar)  # fields show a frame after a click too


class KeyboardFocus(QObject):
    """Sets the property of the focused control unless a click gave it the focus.

    Whoever clicks knows where the focus is; a frame there would only look like a choice.
    """

    def __init__(self, app: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        app.focusChanged.connect(self._follow)

    def _follow(self, old: QWidget | None, new: QWidget | None) -> None:
        clicked = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        _mark(old, on=False)
        _mark(new, on=not clicked)


def _mark(control: QWidget | None, *, on: bool) -> None:
    if not isinstance(control, _FRAMED) or bool(control.property(KEYS)) == on:
        return
    control.setProperty(KEYS, on)
    style = control.style()  # reads the property only here
    style.unpolish(control)
    style.polish(control)
    control.update()
