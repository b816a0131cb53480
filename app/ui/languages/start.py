"""Applies the language at startup: texts, Qt's own dialogs, numbers, fonts, text direction."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from app.ui.languages.fonts import apply_fonts
from utils.translation import numbers, texts
from utils.translation.files import available
from utils.translation.languages import SOURCE, SYSTEM

log = logging.getLogger(__name__)


def apply_language(app: QApplication, choice: str) -> None:
    """Set the window's language before creating widgets; `choice` is SYSTEM or of LANGUAGES."""
    system = QLocale.system()
    language = choice if choice != SYSTEM else match(system.uiLanguages(), available())
    texts.use(language)
    QLocale.setDefault(locale_of(language, system))
    numbers.use(number)
    apply_fonts(app, language)
    app.setLayoutDirection(QLocale(language).textDirection())
    _translate_qt(app, language)


def match(wanted: Sequence[str], known: Sequence[str]) -> str:
    """Return the first wanted language, such as "de-AT" or "zh-Hans-CN", that is known, or English.

    Languages match if language and script are equal.
    """
    for name in wanted:
        asked = QLocale(name)
        for key in known:
            ours = QLocale(key)
            if (asked.language(), asked.script()) == (ours.language(), ours.script()):
                return key
    return SOURCE


def locale_of(language: str, system: QLocale) -> QLocale:
    """Return the locale for numbers: the system's if it has the same language."""
    own = QLocale(language)
    return system if system.language() == own.language() else own


def number(value: float, decimals: int = 0) -> str:
    """Format a number in the chosen language, rounded to `decimals`."""
    return QLocale().toString(float(value), "f", decimals)


def _translate_qt(app: QApplication, language: str) -> None:
    """Translate the standard dialogs with the texts shipped with Qt."""
    for before in app.findChildren(QTranslator):
        app.removeTranslator(before)
        before.deleteLater()
    if language == SOURCE:
        return
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    translator = QTranslator(app)
    if translator.load(QLocale(language), "qtbase", "_", folder):
        app.installTranslator(translator)
    else:
        log.warning("Qt's own texts are not there in the language '%s'", language)
