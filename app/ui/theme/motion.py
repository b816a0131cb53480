"""Whether anything may move by itself: what the user or the system asks for."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QStyle, QWidget

# In a style sheet, of the widgets that move by themselves.
STILL_SHEET = "QProgressBar, #recording { widget-animation-duration: 0; }"


def moves(widget: QWidget) -> bool:
    """Return whether `widget` may move by itself; one that may not stands still."""
    hint = QStyle.StyleHint.SH_Widget_Animation_Duration
    return widget.style().styleHint(hint, None, widget) > 0


def system_is_still() -> bool:
    """Return whether the system asks for less motion, which Qt tells on Windows alone."""
    return sys.platform == "win32" and not QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
