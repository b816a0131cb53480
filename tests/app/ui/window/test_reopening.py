"""A chosen language shows at once: the window opens again with everything that was open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtGui import QColor, QImage

from app.settings import Settings
from app.styles.catalog import Catalog
from app.ui.languages import apply_language
from app.ui.reopening import REOPEN, OpenWindow
from tests.app.ui.window.conftest import press
from tests.helpers.fakes import write_video
from tests.helpers.windows import show_window
from utils.translation import numbers
from utils.translation.texts import chosen


@pytest.fixture
def saved() -> list[Settings]:
    return []


@pytest.fixture
def opened(qapp, qtbot, saved):
    """Yield the program's window, which may be replaced, with the shipped styles."""
    before = QLocale()
    apply_language(qapp, "en")
    opened = OpenWindow(
        qapp, Catalog.default(), Settings(language="en", device="cpu"), saved.append
    )
    show_window(opened.window, qtbot)
    yield opened
    opened.window.close()
    qtbot.waitUntil(lambda: not opened.window.isVisible())
    opened.close()
    opened.window.deleteLater()
    apply_language(qapp, "en")
    numbers.use(None)
    QLocale.setDefault(before)


def choose(opened: OpenWindow, language: str, monkeypatch) -> list[int]:
    """Choose a language in the menu; return the exit status that the event loop gets, if any."""
    statuses: list[int] = []
    monkeypatch.setattr(opened._app, "exit", statuses.append)
    menu = opened.window.languages
    next(entry for entry in menu.actions() if entry.data() == language).trigger()
    monkeypatch.undo()
    return statuses


def show(opened: OpenWindow, spec: str, qtbot) -> None:
    with qtbot.waitSignal(opened.session.painted):
        opened.session.open(spec)


def test_the_window_opens_again_in_the_language_with_its_picture(
    opened, picture, monkeypatch, qtbot
):
    show(opened, str(picture), qtbot)
    opened.window.mixer.choose_style("udnie")
    earlier = opened.window
    assert choose(opened, "de", monkeypatch) == [REOPEN]
    opened.reopen()
    assert not earlier.isVisible()
    assert opened.window.isVisible()
    assert chosen() == "de"
    assert opened.window.actions_by_key["open"].text() == "Öffnen..."
    qtbot.waitUntil(lambda: opened.window.viewport.styled is not None)
    assert opened.session.spec == str(picture)
    assert opened.session.config.style == "udnie"


def test_the_language_is_kept_for_the_next_start(opened, saved, monkeypatch):
    choose(opened, "fr", monkeypatch)
    opened.reopen()
    assert saved[-1].language == "fr"


def test_changes_before_the_language_can_be_undone_after_it(opened, picture, monkeypatch, qtbot):
    show(opened, str(picture), qtbot)
    before = opened.session.config.style
    opened.window.mixer.choose_style("wreck")
    choose(opened, "de", monkeypatch)
    opened.reopen()
    press(opened.window, "undo")
    assert opened.session.config.style == before
    press(opened.window, "redo")
    assert opened.session.config.style == "wreck"


def test_a_film_goes_on_where_it_was_and_stays_paused(opened, tmp_path, monkeypatch, qtbot):
    show(opened, str(write_video(tmp_path / "film.mp4", frames=90)), qtbot)
    opened.session.paused = True
    opened.session.seek(2.0)
    qtbot.waitUntil(lambda: opened.session.position == pytest.approx(2.0, abs=0.1))
    choose(opened, "de", monkeypatch)
    opened.reopen()
    qtbot.waitUntil(lambda: opened.session.position == pytest.approx(2.0, abs=0.1))
    assert opened.session.paused


def test_the_wall_stays_the_wall(opened, picture, monkeypatch, qtbot):
    show(opened, str(picture), qtbot)
    opened.window.wall.show()
    choose(opened, "de", monkeypatch)
    opened.reopen()
    assert opened.window.wall.shown
    qtbot.waitUntil(lambda: opened.session.spec == str(picture))


def test_a_pasted_picture_outlives_the_window_it_was_pasted_into(opened, monkeypatch, qtbot):
    pasted = QImage(64, 48, QImage.Format.Format_RGB32)
    pasted.fill(QColor("teal"))
    with qtbot.waitSignal(opened.session.painted):
        opened.window.opener.open_image(pasted)
    choose(opened, "de", monkeypatch)
    opened.reopen()
    qtbot.waitUntil(lambda: opened.window.viewport.styled is not None)
    spec = opened.session.spec
    assert isinstance(spec, str)
    assert opened.window.opener.is_pasted(spec)


def test_running_work_puts_the_language_off_until_the_next_start(
    opened, tmp_path, monkeypatch, qtbot
):
    show(opened, str(write_video(tmp_path / "film.mp4")), qtbot)
    press(opened.window, "record")
    qtbot.waitUntil(lambda: opened.window.exporter.recording)
    assert choose(opened, "de", monkeypatch) == []
    assert opened.window.notices.text
    assert opened.window.settings.value.language == "de"
    press(opened.window, "record")
    qtbot.waitUntil(lambda: not opened.window.exporter.recording)
