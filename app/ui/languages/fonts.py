"""Has the window written with the forms of characters that the chosen language has.

One character has other forms in Japanese than in Chinese; without a family that is asked for, the
system takes those of whichever font it finds first.
"""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

from utils.translation.languages import LANGUAGES

_BEFORE = "families_before"  # the property of the application that keeps those of the system


def apply_fonts(app: QApplication, language: str) -> None:
    """Ask for the fonts of a language before those of the system.

    Args:
        app: The application.
        language: A key of LANGUAGES.
    """
    before = app.property(_BEFORE)
    if before is None:
        before = app.font().families()
        app.setProperty(_BEFORE, before)
    wanted = families(language, before)
    if wanted != app.font().families():
        font = QFont(app.font())
        font.setFamilies(wanted)
        app.setFont(font)


def families(language: str, before: list[str]) -> list[str]:
    """Return the families to ask for, the best one first.

    Args:
        language: A key of LANGUAGES.
        before: Those of the system, for what the others lack.
    """
    own = [name for name in LANGUAGES[language].fonts if QFontDatabase.hasFamily(name)]
    return [*own, *(name for name in before if name not in own)]
