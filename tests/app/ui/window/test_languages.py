"""The language of the window: chosen in a menu, in force from the next start on."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QLabel

from app.settings import Settings
from app.translation.languages import LANGUAGES, SYSTEM
from app.ui.languages.start import apply_language
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press


@pytest.fixture
def german(qapp, session, qtbot, request):
    """The window in German, or in the language of the parameter."""
    before, language = QLocale(), getattr(request, "param", "de")
    apply_language(qapp, language)
    window = MainWindow(session, Settings(language=language), lambda _: None)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    yield window
    apply_language(qapp, "en")
    QLocale.setDefault(before)


def entries(window) -> dict[str, QAction]:
    return {action.data(): action for action in window.languages.actions()}


def test_every_language_is_listed_by_its_own_name(german):
    found = entries(german)
    assert found["de"].text() == "Deutsch"
    assert found["en"].text() == LANGUAGES["en"].title
    assert [key for key, action in found.items() if action.isChecked()] == ["de"]


def test_the_key_opens_the_menu_of_languages_and_so_does_the_main_menu(window, qtbot):
    press(window, "language")
    qtbot.waitUntil(window.languages.isVisible)
    window.languages.close()
    assert window.actions_by_key["language"].menu() is window.languages


def test_a_chosen_language_is_kept_and_said_to_need_another_start(window, saved, qtbot):
    assert entries(window)[SYSTEM].isChecked()
    entries(window)["de"].trigger()
    qtbot.waitUntil(lambda: "starts again" in window.notices.text)
    window.close()
    assert saved[-1].language == "de"


def test_the_window_is_in_the_language_it_was_started_in(german):
    action = german.actions_by_key["open"]
    assert action.text() == "Öffnen..."
    assert german.panel.controls["strength"].toolTip().startswith("Stärke")
    assert german.actions_by_key["theme"].text() == "Darstellung: wie das System"


@pytest.mark.parametrize("german", ["de", "es", "fr", "ja", "zh_CN"], indirect=True)
def test_no_two_mnemonics_of_a_translated_panel_are_the_same(german):
    parts = (*german.panel.findChildren(QLabel), *german.panel.findChildren(QAbstractButton))
    letters = [p.text()[p.text().index("&") + 1].lower() for p in parts if "&" in p.text()]
    assert len(letters) == len(set(letters)) == 18


def test_the_panel_is_left_where_writing_goes_from_right_to_left(qapp, session, qtbot):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        window = MainWindow(session, Settings(), lambda _: None)
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        assert window.panel.x() < window.viewport.mapTo(window, window.viewport.rect().center()).x()
        assert not window.grab().isNull()
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
