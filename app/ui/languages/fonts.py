"""Selects fonts with the character forms of the chosen language.

A character may have different forms in Japanese and Chinese. Without a requested font family, the
system uses the first font it finds.
"""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

from utils.translation.languages import LANGUAGES

_BEFORE = "families_before"  # application property that stores the system's families


def apply_fonts(app: QApplication, language: str) -> None:
    """Prefer the fonts of a language, a key of LANGUAGES, to the system's."""
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
    """Return the font families for a language, best first; the system's `before` come last."""
    own = [name for name in LANGUAGES[language].fonts if QFontDatabase.hasFamily(name)]
    return [*own, *(name for name in before if name not in own)]
