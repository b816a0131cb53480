"""The parts of bars and cards with a message: its label, its buttons, their row."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.ui.layouts import Part, described, fill
from app.ui.theme.tokens import SPACE
from utils.translation.mnemonics import without_mnemonic


def bar_layout(frame: QFrame, text: QLabel, *parts: Part) -> QHBoxLayout:
    """Lay out a bar: its text, which takes the space that is left, and the parts beside it."""
    margins = (2 * SPACE, SPACE, SPACE, SPACE)
    return fill(QHBoxLayout(frame), (text, 1), *parts, margins=margins, spacing=SPACE)


def make_button(text: str, tip: str, clicked: Callable[[], object]) -> QPushButton:
    """Return a button with mnemonic, tooltip and accessible name."""
    made = described(QPushButton(text), without_mnemonic(text), tip)
    made.clicked.connect(lambda: clicked())
    return made


def message_label(parent: QWidget) -> QLabel:
    """Return the label of a bar: wrapped plain text, to be set with `breakable`."""
    label = QLabel(parent)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return label
