"""The theme in use, for painting."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from app.ui.theme.tokens import DARK, LIGHT, Tokens


def tokens_in_use() -> Tokens:
    """Return the tokens of the application's palette: style sheets change a widget's."""
    return LIGHT if QGuiApplication.palette().window().color().name() == LIGHT.window else DARK
