"""Line icons from assets/icons in the theme's colors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.ui.theme.tokens import Tokens

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "icons"
_SIZES = (16, 20, 24, 32, 40, 48, 64)  # pixels, also for scaled displays


@cache
def icon(name: str, tokens: Tokens, checked: str = "") -> QIcon:
    """Return the icon `name` in the theme's text color; `checked` "" is the accent.

    Raises:
        KeyError: If there is no drawing of that name.
    """
    made = QIcon()
    off, on = QIcon.State.Off, QIcon.State.On
    for color, mode, states in (
        (tokens.text, QIcon.Mode.Normal, (off,)),
        (checked or tokens.accent, QIcon.Mode.Normal, (on,)),
        (tokens.disabled, QIcon.Mode.Disabled, (off, on)),
    ):
        for lines in _masks(name):
            pixmap = tinted(lines, color)
            for state in states:
                made.addPixmap(pixmap, mode, state)
    return made


@cache
def _drawings() -> dict[str, str]:
    """Read all drawings with the first one: no later icon waits for the disk."""
    return {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.svg")}


@cache
def _masks(name: str) -> tuple[QPixmap, ...]:
    """Render the drawing in every size without color: rendering is slow, tinting is not."""
    return tuple(_render(_drawings()[name], size) for size in _SIZES)


def tinted(lines: QPixmap, color: str | QColor) -> QPixmap:
    made = QPixmap(lines)
    painter = QPainter(made)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(made.rect(), QColor(color))
    painter.end()
    return made


@cache
def application_icon() -> QIcon:
    made = QIcon()
    for size in (*_SIZES, 128, 256):
        made.addPixmap(_render(_drawings()["styleforge"], size))
    return made


def _render(drawing: str, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(drawing.encode())).render(painter)
    painter.end()
    return pixmap
