"""The window's language is chosen in a menu, and its texts are whole sentences in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, QMimeData, QUrl
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QAbstractButton, QDialog, QLabel, QWidget

from app.engine.network_selector import NetworkSelector
from app.engine.resolution import Sizes
from app.errors import StyleForgeError
from app.export.film.job import FilmProgress
from app.frame import SourceInfo
from app.looks.look import Look
from app.settings import Settings
from app.sources import open_source
from app.ui.camera.dialog import CameraModeDialog
from app.ui.controllers import language_menu
from app.ui.controllers.drop_parser import parse_drop
from app.ui.durations import format_duration, format_remaining
from app.ui.film.dialog import FilmDialog
from app.ui.film.exporter import progress_text
from app.ui.languages import apply_language
from app.ui.looks.strip import ShownLook
from app.ui.main_window import MainWindow
from app.ui.showing.slideshow_dialog import SlideshowDialog
from app.ui.speed.badge import fps_text
from app.ui.virtual_camera.dialog import CameraDialog
from app.ui.widgets.status_bar import source_text
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions
from tests.helpers.file_dialogs import open_picker
from tests.helpers.windows import show_window
from utils.translation import numbers
from utils.translation.languages import LANGUAGES, SYSTEM


@pytest.fixture
def german(qapp, session, qtbot, request):
    """Yield the window in German, or in the parameter's language."""
    before, language = QLocale(), getattr(request, "param", "de")
    apply_language(qapp, language)
    window = MainWindow(session, Settings(language=language), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    yield window
    apply_language(qapp, "en")
    numbers.use(None)
    QLocale.setDefault(before)


OTHERS = [pytest.param(each, marks=pytest.mark.full) for each in ("es", "fr", "zh_CN")]
TRANSLATED = pytest.mark.parametrize("german", ["de", "ja", *OTHERS], indirect=True)


def dialogs(window: MainWindow) -> list[QDialog]:
    return [
        CameraModeDialog(window),
        FilmDialog(window, lambda _: None),
        SlideshowDialog(window),
        CameraDialog(Settings(), window),
    ]


def marked(parent: QWidget) -> list[str]:
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


def test_a_chosen_language_is_kept_and_asks_for_another_window(window, saved, qtbot):
    assert entries(window)[SYSTEM].isChecked()
    with qtbot.waitSignal(window.reopen_wanted):
        entries(window)["de"].trigger()
    window.close()
    assert saved[-1].language == "de"


@pytest.mark.parametrize("german", ["ja"], indirect=True)
def test_a_language_with_untranslated_texts_says_how_many_are_translated(
    german, monkeypatch, qtbot
):
    monkeypatch.setattr(language_menu, "share", lambda _: 0.5)
    german.languages.tell_share()
    qtbot.waitUntil(lambda: "50" in german.notices.text)


def test_the_window_is_in_the_language_it_was_started_in(german):
    action = german.actions_by_key["open"]
    assert action.text() == "Öffnen..."
    assert german.panel.controls["strength"].toolTip().startswith("Stärke")
    assert german.actions_by_key["theme"].text() == "Darstellung: wie das System"


def test_numbers_have_a_decimal_comma_in_german(german):
    assert fps_text(1.5) == "1,5 fps"
    assert "29,97 fps" in source_text(SourceInfo("Kamera", 640, 480, 29.97))
    assert format_duration(100) == "2 Minuten"
    assert format_remaining(90_000) == "noch 1 d 1 h"
    said = progress_text(Path("film.mp4"), FilmProgress(0, 15_300, 2.5))
    assert "2,5 Einzelbilder pro Sekunde" in said
    assert "1,7 h" in said


def test_what_the_engine_says_of_its_choice_is_german(german):
    selector = NetworkSelector()
    for _ in range(6):
        selector.measured(False, Sizes((64, 64), (64, 64)), 1500.0, 0.0)
    assert selector.decide(64, 64, 64)
    assert "0,7 fps bei 64" in selector.remark


def test_the_page_of_the_queue_is_german(german):
    german.queue.show()
    page = german.queue.page
    assert page.actions_by_key["start"].text() == "Starten"
    assert page.list.accessibleName() == "Einträge der Warteschlange"
    assert page.adding.styles.text().startswith("Stil: ")


def test_what_a_drop_would_do_is_said_in_german(german, tmp_path):
    data = QMimeData()
    names = ("a.jpg", "b.jpg", "film.mp4", "notes.txt")
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / name)) for name in names])
    drop = parse_drop(data)
    assert mentions(drop.detail, "2 Bilder", "1 Film", "1 andere Datei")


def test_why_a_file_is_no_picture_is_said_in_german(german, tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"%PDF-1.7")
    with pytest.raises(StyleForgeError, match="PDF-Dokument"):
        open_source(str(path))


def test_a_dialog_names_kinds_of_files_in_german(german):
    press(german, "open")
    dialog = open_picker(german)
    kinds = dialog.foot.kinds
    assert kinds.itemText(0) == "Bilder und Videos"
    assert kinds.itemText(kinds.count() - 1) == "Alle Dateien"
    dialog.close()


@TRANSLATED
def test_no_two_mnemonics_of_a_translated_panel_are_the_same(german):
    letters = [*marked(german.panel), *marked(german.engine_bar)]
    assert len(letters) == len(set(letters)) == 22


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
