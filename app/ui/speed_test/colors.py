"""The colors of engines in curve, rows and card; the accent is for selection alone."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette

# Contrast at least 3:1 on the panel and the window of its theme.
_OURS = {True: "#6db5f2", False: "#1c66a8"}
_OTHERS = {True: "#9aa2ae", False: "#6b7380"}


def is_dark(palette: QPalette) -> bool:
    return palette.alternateBase().color().lightness() < 128


def engine_color(*, ours: bool, dark: bool) -> QColor:
    """Return the color of StyleForge's own engines, or of all others."""
    return QColor((_OURS if ours else _OTHERS)[dark])
