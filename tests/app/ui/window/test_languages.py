"""The language of the window: chosen in a menu, in force from the next start on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, QMimeData, Qt, QUrl
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QLabel

from app.engine.network_selector import NetworkSelector
from app.engine.resolution import Sizes
from app.errors import StyleForgeError
from app.export.film.job import FilmProgress
from app.frame import SourceInfo
from app.settings import Settings
from app.sources import open_source
from app.translation import numbers
from app.translation.languages import LANGUAGES, SYSTEM
from app.ui.controllers.drop_parser import parse_drop
from app.ui.durations import format_duration, format_remaining
from app.ui.film.exporter import progress_text
from app.ui.languages.start import apply_language
from app.ui.main_window import MainWindow
from app.ui.speed.badge import fps_text
from app.ui.widgets.status_bar import source_text
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
    numbers.use(None)
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
    assert selector.remark == "das volle Netz erreicht 0,7 fps bei 64"


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
    assert drop.detail == "2 Bilder und 1 Film; 1 andere Datei ausgelassen"


def test_why_a_file_is_no_picture_is_said_in_german(german, tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"%PDF-1.7")
    with pytest.raises(StyleForgeError, match="ist ein PDF-Dokument, kein Bild"):
        open_source(str(path))


def test_a_dialog_names_kinds_of_files_in_german(german):
    press(german, "open")
    dialog = german.findChild(QFileDialog)
    assert dialog.nameFilters()[0].startswith("Bilder und Videos")
    assert dialog.nameFilters()[-1] == "Alle Dateien (*)"
    dialog.close()


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
