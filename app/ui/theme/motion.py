"""Tells whether anything may move by itself, by the user's or the system's choice."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QStyle, QWidget

# Style sheet of widgets that move by themselves
STILL_SHEET = "QProgressBar, #recording, #growing { widget-animation-duration: 0; }"


def moves(widget: QWidget) -> bool:
    """Return whether `widget` may move by itself; otherwise it stays still."""
    hint = QStyle.StyleHint.SH_Widget_Animation_Duration
    return widget.style().styleHint(hint, None, widget) > 0


def system_is_still() -> bool:
    """Return whether the system requests less motion, which Qt reports only on Windows."""
    return sys.platform == "win32" and not QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
