"""Closing the window asks once about all running work, and loses no part of it."""

from __future__ import annotations

import threading

import pytest
import shiboken6

from app.export.film.store import store_folder
from app.export.picture_file import write_result
from app.settings import Settings
from app.ui.controllers import exporter as picture_exporter
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_export import films, frames, record
from tests.app.ui.window.test_film_export import film, held, playing
from tests.helpers.errors import mentions
from tests.helpers.fakes import write_video
from tests.helpers.windows import show_window
from utils.images.reading import read_pixels

__all__ = ["film", "films", "held", "playing"]  # fixtures


def asked(window) -> str:
    questions = window.questions
    return questions.accessibleDescription() if questions.isVisible() else ""


def closed(window, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=10_000)


@pytest.mark.parametrize("way", ["Q", pytest.param("the window's button", marks=pytest.mark.full)])
def test_quitting_while_recording_asks_and_keeps_the_film(moving, films, qtbot, way):
    record(moving, qtbot)
    press(moving, "quit") if way == "Q" else moving.close()
    assert moving.isVisible()
    assert "the recording ends" in asked(moving)
    assert moving.actions_by_key["record"].isChecked()
    moving.questions.accept.click()
    closed(moving, qtbot)
    [path] = films.iterdir()
    assert frames(path) >= 2


def test_who_keeps_recording_keeps_the_window(moving, films, qtbot):
    record(moving, qtbot)
    press(moving, "quit")
    moving.questions.cancel.click()
    assert moving.isVisible()
    assert moving.isEnabled()
    assert moving.actions_by_key["record"].isChecked()
    press(moving, "record")
    qtbot.waitUntil(lambda: moving.notices.text.startswith("Saved "), timeout=5000)
    moving.close()
    assert not moving.isVisible()


def test_who_closes_twice_means_it_and_the_film_is_kept(moving, films, qtbot):
    record(moving, qtbot)
    moving.close()
    moving.close()
    closed(moving, qtbot)
    [path] = films.iterdir()
    assert frames(path) >= 2


def test_everything_that_runs_is_in_one_question(playing, film, held, films, tmp_path, qtbot):
    out = tmp_path / "out.mp4"
    record(playing, qtbot)
    playing.film_exporter.export(film, out)
    qtbot.waitUntil(lambda: len(held.seen) == 4, timeout=5000)
    playing.close()
    assert mentions(asked(playing), "the recording", "out.mp4")
    playing.questions.accept.click()
    qtbot.wait(100)
    assert playing.isVisible()  # the export ends after its batch, which waits
    assert not playing.isEnabled()
    playing.close()
    assert playing.isVisible()
    assert not asked(playing)
    held.allow()
    closed(playing, qtbot)
    assert not playing.film_exporter.under_way
    assert not store_folder(out).exists()  # no part was finished
    assert list(playing.film_exporter.folder.iterdir())  # the next start offers it all the same
    [path] = films.iterdir()
    assert frames(path) >= 2


def test_a_signal_ends_everything_without_a_question(moving, films, qtbot):
    record(moving, qtbot)
    moving.closing.leave()
    closed(moving, qtbot)
    [path] = films.iterdir()
    assert frames(path) >= 2


def test_a_picture_that_is_being_saved_is_saved_before_the_window_closes(
    streaming, tmp_path, monkeypatch, qtbot
):
    allowed = threading.Event()

    def slow(*args):
        assert allowed.wait(timeout=10)
        return write_result(*args)

    monkeypatch.setattr(picture_exporter, "write_result", slow)
    streaming.exporter.save(streaming.viewport.styled, tmp_path / "a.png")
    streaming.notices.show_notice("Moved to b.png")  # must not hide the next notice
    streaming.close()
    assert not asked(streaming)
    qtbot.wait(100)
    assert streaming.isVisible()
    assert streaming.notices.text == "Closing..."
    allowed.set()
    closed(streaming, qtbot)
    assert read_pixels(tmp_path / "a.png").shape == (48, 64, 3)


def test_a_recording_whose_window_is_gone_ends_with_the_session(session, tmp_path, qtbot):
    window = MainWindow(session, Settings(), lambda _: None)
    show_window(window, qtbot)
    window.exporter._recordings_folder = lambda: tmp_path / "films"
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(write_video(tmp_path / "film.mp4")))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    record(window, qtbot)
    (recording,) = (thread for thread in threading.enumerate() if thread.name == "recording")
    shiboken6.delete(window)
    session.shutdown()
    session.blockSignals(True)  # its receivers are gone
    recording.join(timeout=10)
    [path] = (tmp_path / "films").iterdir()
    assert frames(path) >= 2
