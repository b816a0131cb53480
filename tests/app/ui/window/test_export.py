"""The window copies, saves and records pictures as it shows them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QColor, QGuiApplication, QImage

from app.ui.controllers.exporter import NOTHING_MOVED, STILL_SOURCE
from app.ui.main_window import MainWindow
from app.ui.viewport.frame_painter import as_image
from tests.app.ui.window.conftest import press
from utils.images.metadata import read_metadata
from utils.images.reading import read_pixels
from utils.opencv import cv2


def test_copy_gives_the_styled_picture_without_holding_the_window_up(streaming, monkeypatch, qtbot):
    copiers: list[threading.Thread] = []

    def note(pixels: np.ndarray) -> QImage:
        copiers.append(threading.current_thread())
        return as_image(pixels)

    monkeypatch.setattr("app.ui.controllers.exporter.as_image", note)
    press(streaming, "copy")
    qtbot.waitUntil(lambda: streaming.notices.text == "Copied the picture")
    assert threading.main_thread() not in copiers
    image = QGuiApplication.clipboard().image()
    assert (image.width(), image.height()) == (64, 48)
    assert image.pixelColor(5, 5) == QColor(0, 255, 255)


def test_a_snapshot_is_saved_at_once_and_says_where(streaming, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(streaming.exporter, "_folder", lambda: tmp_path / "shots")
    press(streaming, "snapshot")
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    [path] = (tmp_path / "shots").iterdir()
    assert str(path) in streaming.saved_card.text
    assert read_metadata(path)["Style"] == "Candy"


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
def test_saving_keeps_the_picture_and_how_it_was_made(streaming, tmp_path, qtbot, name):
    path = tmp_path / name
    streaming.exporter.save(streaming.viewport.styled, path)
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    assert np.abs(read_pixels(path).astype(int) - [0, 255, 255]).max() <= 4
    assert read_metadata(path)["Precision"] == "FP32"


def test_there_is_nothing_to_save_before_the_first_picture(window):
    press(window, "snapshot")
    assert "no picture yet" in window.notices.text


def test_a_folder_that_cannot_be_written_is_a_problem(streaming, tmp_path, qtbot):
    (tmp_path / "file").touch()
    streaming.exporter.save(streaming.viewport.styled, tmp_path / "file" / "a.png")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=5000)
    assert "a.png" in streaming.problems.problems[0].summary


@pytest.fixture
def films(window, tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(window.exporter, "_recordings_folder", lambda: tmp_path / "films")
    return tmp_path / "films"


def frames(path: Path) -> float:
    return cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT)


def record(window: MainWindow, qtbot) -> None:
    press(window, "record")
    with qtbot.waitSignals([window.session.styled] * 3, timeout=5000):
        pass


def test_a_recording_begins_and_ends_with_a_key(moving, films, qtbot):
    record(moving, qtbot)
    assert moving.actions_by_key["record"].isChecked()
    assert moving.notices.text.startswith("Recording to ")
    press(moving, "record")
    qtbot.waitUntil(lambda: moving.notices.text.startswith("Saved "), timeout=5000)
    assert not moving.actions_by_key["record"].isChecked()
    [path] = films.iterdir()
    assert frames(path) >= 2


def test_of_a_still_picture_there_is_no_film_but_a_sentence(streaming, films):
    press(streaming, "record")
    assert streaming.notices.text == STILL_SOURCE
    assert not streaming.actions_by_key["record"].isChecked()
    press(streaming, "record")
    assert not films.exists()


def test_while_nothing_moves_there_is_no_film_but_a_sentence(moving, session, films, qtbot):
    press(moving, "pause")
    qtbot.wait(200)  # results in flight arrive
    press(moving, "record")
    press(moving, "record")
    assert moving.notices.text == NOTHING_MOVED
    assert not moving.actions_by_key["record"].isChecked()
    assert not films.exists()


def test_a_paused_picture_that_gets_better_is_no_film(moving, session, films, qtbot):
    press(moving, "pause")
    qtbot.wait(200)
    press(moving, "record")
    session.styled.emit(replace(moving.viewport.styled, size=(96, 64)))  # the same picture, refined
    press(moving, "record")
    assert moving.notices.text == NOTHING_MOVED
    assert not films.exists()


def test_a_recording_that_fails_is_a_problem_and_ends(moving, tmp_path, monkeypatch, qtbot):
    (tmp_path / "file").touch()
    monkeypatch.setattr(moving.exporter, "_recordings_folder", lambda: tmp_path / "file")
    press(moving, "record")
    qtbot.waitUntil(lambda: bool(moving.problems.problems), timeout=5000)
    assert "could not be written" in moving.problems.problems[0].summary
    assert not moving.actions_by_key["record"].isChecked()


def test_there_is_nothing_to_record_before_the_first_picture(window):
    press(window, "record")
    assert "no picture yet" in window.notices.text
    assert not window.actions_by_key["record"].isChecked()
