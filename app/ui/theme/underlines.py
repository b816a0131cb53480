"""Underlines the letters that Alt presses, while Alt is held."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QProxyStyle,
    QPushButton,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QWidget,
)

_LEFT = (QEvent.Type.FocusOut, QEvent.Type.Hide)  # Alt is then released somewhere else


class _LetterStyle(QProxyStyle):
    """A style that underlines letters only while `shown` is true."""

    shown = False

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,
    ) -> int:
        if hint == QStyle.StyleHint.SH_UnderlineShortcut:
            return int(self.shown)
        return super().styleHint(hint, option, widget, returnData)


class Underlines(QObject):
    """Sets the style of the buttons and labels that have a letter for Alt.

    The style is not the application's: a window asks its style 60,000 questions while it is built,
    and Python would have to answer each.
    """

    def __init__(self, app: QApplication, style: str, parent: QObject) -> None:
        super().__init__(parent)
        known = app.findChild(_LetterStyle)
        self._style = _LetterStyle(style) if known is None else known
        self._style.setParent(app)  # no widget may outlive its style

    def add(self, part: QWidget) -> None:
        """Set the style of the letters in `part`, which already has its style sheet."""
        for widget in (part, *part.findChildren(QWidget)):
            if _has_letter(widget) and not widget.testAttribute(Qt.WidgetAttribute.WA_SetStyle):
                widget.setStyle(self._style)

    def follow(self, window: QWidget) -> None:
        """Follow the Alt key in a window that is shown."""
        handle = window.windowHandle()
        handle.removeEventFilter(self)
        handle.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Alt:
                self._show(kind == QEvent.Type.KeyPress)
        elif kind in _LEFT:
            self._show(False)
        return False

    def _show(self, shown: bool) -> None:
        if shown == self._style.shown:
            return
        self._style.shown = shown
        for widget in QApplication.allWidgets():
            if widget.isVisible() and widget.testAttribute(Qt.WidgetAttribute.WA_SetStyle):
                widget.update()


def _has_letter(widget: QWidget) -> bool:
    """Return whether Alt and a letter press a widget, or may later, when its text changes."""
    if isinstance(widget, QLabel):
        return widget.buddy() is not None
    return isinstance(widget, QPushButton) or (
        isinstance(widget, QAbstractButton) and "&" in widget.text()
    )
