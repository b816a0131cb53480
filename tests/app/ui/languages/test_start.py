"""The language at the start: the system's preference, numbers, Qt's dialogs, the direction."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QApplication, QDialogButtonBox

from app.ui.languages import apply_language, locale_of, match
from utils.translation import numbers
from utils.translation.languages import LANGUAGES
from utils.translation.numbers import number, significant
from utils.translation.texts import chosen


@pytest.fixture
def app(qapp):
    before = QLocale()
    yield qapp
    apply_language(qapp, "en")
    numbers.use(None)
    QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("wanted", "language"),
    [
        (["de-AT", "en-US"], "de"),
        (["fr-Latn-CA"], "fr"),
        (["zh-Hans-SG"], "zh_CN"),
        (["zh-Hant-TW", "ja-JP"], "ja"),
        (["ko-KR"], "en"),
        ([], "en"),
    ],
)
def test_the_best_language_of_the_system_that_there_is_counts(wanted, language):
    assert match(wanted, list(LANGUAGES)) == language


def test_a_chosen_language_gives_texts_numbers_and_standard_buttons(app: QApplication, qtbot):
    apply_language(app, "de")
    assert chosen() == "de"
    assert number(1234.5, 1) == QLocale("de").toString(1234.5, "f", 1) == "1.234,5"
    assert [significant(value, 3) for value in (0.012345, 2.0)] == ["0,0123", "2"]
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(box)
    assert box.buttons()[0].text() == "Abbrechen"
    apply_language(app, "en")
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(box)
    assert box.buttons()[0].text() == "Cancel"


def test_numbers_are_those_of_the_systems_country_if_it_speaks_the_language():
    assert locale_of("de", QLocale("de_CH")).name() == "de_CH"
    assert locale_of("fr", QLocale("de_CH")).language() == QLocale.Language.French


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_every_language_writes_in_its_direction(app: QApplication, language):
    apply_language(app, language)
    assert app.layoutDirection() == Qt.LayoutDirection.LeftToRight


def test_a_language_that_is_written_from_right_to_left_turns_the_window(
    app: QApplication, monkeypatch
):
    monkeypatch.setitem(LANGUAGES, "ar", LANGUAGES["en"])
    apply_language(app, "ar")
    assert app.layoutDirection() == Qt.LayoutDirection.RightToLeft
