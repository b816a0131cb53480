"""The language of the window: chosen in a menu, in force from the next start on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QAbstractButton, QDialog, QLabel, QWidget

from app.looks.look import Look
from app.settings import Settings
from app.translation.languages import LANGUAGES, SYSTEM
from app.ui.camera.dialog import CameraModeDialog
from app.ui.film.dialog import FilmDialog
from app.ui.languages.start import apply_language
from app.ui.looks.strip import ShownLook
from app.ui.main_window import MainWindow
from app.ui.showing.slideshow_dialog import SlideshowDialog
from app.ui.virtual_camera.dialog import CameraDialog
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


TRANSLATED = pytest.mark.parametrize("german", ["de", "es", "ja", "zh_CN"], indirect=True)


def dialogs(window: MainWindow) -> list[QDialog]:
    return [
        CameraModeDialog(window),
        FilmDialog(window, lambda _: None),
        SlideshowDialog(window),
        CameraDialog(Settings(), window),
    ]


def marked(parent: QWidget) -> list[str]:
    """The letters of the mnemonics below a widget."""
    parts = (*parent.findChildren(QLabel), *parent.findChildren(QAbstractButton))
    return [p.text()[p.text().index("&") + 1].lower() for p in parts if "&" in p.text()]


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


@TRANSLATED
def test_no_two_mnemonics_of_a_translated_panel_are_the_same(german):
    letters = marked(german.panel)
    assert len(letters) == len(set(letters)) == 18


@TRANSLATED
def test_no_two_mnemonics_of_a_translated_dialog_are_the_same(german):
    for dialog in dialogs(german):
        letters = marked(dialog)
        assert len(letters) == len(set(letters)) >= 4, dialog.windowTitle()


def test_the_labels_of_a_dialog_are_translated(german):
    said = {each.text() for dialog in dialogs(german) for each in dialog.findChildren(QLabel)}
    assert {"&Größe", "Ei&npassung", "Gerä&t", "&Belichtung", "S&tile", "&Qualität"} <= said


def test_a_question_that_names_no_answer_has_a_translated_one(german):
    german.questions.ask("Weiter?", "&Ja", lambda _: None)
    assert german.questions.cancel.text() == "Ab&brechen"
    assert german.questions.cancel.accessibleName() == "Abbrechen"
    german.questions.ask("Weiter?", "&Ja", lambda _: None, no="&Nein")
    assert german.questions.cancel.text() == "&Nein"


@TRANSLATED
def test_no_name_that_is_read_aloud_has_a_mnemonic(german):
    german.questions.ask("?", "&A", lambda _: None, other="保存(&S)", label="名前(&N):")
    shown = [german, *dialogs(german)]
    names = [part.accessibleName() for each in shown for part in each.findChildren(QWidget)]
    assert not [name for name in names if "&" in name or re.search(r"\([A-Z]\)", name)]
    assert {"A", "保存", "名前"} <= set(names)


def test_undo_has_a_text_of_its_own_where_there_is_no_change(german, session):
    undo, redo = (german.actions_by_key[key] for key in ("undo", "redo"))
    assert (undo.text(), redo.text()) == ("Rückgängig", "Wiederholen")
    session.config = replace(session.config, strength=0.3)
    assert undo.text() == "Rückgängig: Stärke"
    press(german, "undo")
    assert (undo.text(), redo.text()) == ("Rückgängig", "Wiederholen: Stärke")


@pytest.mark.parametrize(
    ("german", "key"), [("de", "Entf"), ("ja", "Del"), ("en", "Del")], indirect=["german"]
)
def test_qt_names_the_keys_of_a_look(german, session, key):
    look = ShownLook(Look.of(session.config), "Abend", "Abend", QImage())
    menu = german.looks.strip.context_menu(look)
    said = [action.text().partition("\t")[2] for action in menu.actions()]
    assert said == ["", "F2", key]
    menu.close()


@pytest.mark.parametrize("german", ["zh_CN"], indirect=True)
def test_sentences_are_joined_as_the_language_does(german, session, picture, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    qtbot.waitUntil(lambda: "\u3002" in german.status.running.text())
    assert ". " not in german.status.running.text()
