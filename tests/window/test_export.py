"""Out of the window: pictures are copied, saved and recorded as they were seen."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PySide6.QtGui import QColor, QGuiApplication, QImage

from app.frames import Frame
from app.ui.viewport import as_image
from tests.window.conftest import press
from utils.image_utils import load_image, read_metadata
from utils.opencv import cv2


def test_copy_gives_the_styled_picture_without_holding_the_window_up(streaming, monkeypatch, qtbot):
    copiers: list[threading.Thread] = []

    def note(frame: Frame) -> QImage:
        copiers.append(threading.current_thread())
        return as_image(frame)

    monkeypatch.setattr("app.ui.exporting.as_image", note)
    press(streaming, "copy")
    qtbot.waitUntil(lambda: streaming.notices.text == "Copied the picture")
    assert threading.main_thread() not in copiers
    image = QGuiApplication.clipboard().image()
    assert (image.width(), image.height()) == (64, 48)
    assert image.pixelColor(5, 5) == QColor(0, 255, 255)


def test_a_snapshot_is_saved_at_once_and_says_where(streaming, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(streaming.exporter, "_folder", lambda: tmp_path / "shots")
    press(streaming, "snapshot")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    [path] = (tmp_path / "shots").iterdir()
    assert str(path) in streaming.notices.text
    assert read_metadata(path)["Style"] == "Candy"


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
def test_saving_keeps_the_picture_and_how_it_was_made(streaming, tmp_path, qtbot, name):
    path = tmp_path / name
    streaming.exporter.save(streaming.viewport.styled, path)
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    assert np.abs(load_image(path).astype(int) - [0, 255, 255]).max() <= 4
    assert read_metadata(path)["Precision"] == "FP32"


def test_there_is_nothing_to_save_before_the_first_picture(window):
    press(window, "snapshot")
    assert window.notices.text == "There is no picture yet"


def test_a_folder_that_cannot_be_written_is_a_problem(streaming, tmp_path, qtbot):
    (tmp_path / "file").touch()
    streaming.exporter.save(streaming.viewport.styled, tmp_path / "file" / "a.png")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=5000)
    assert "a.png" in streaming.problems.problems[0].summary


def test_a_recording_begins_and_ends_with_a_key(streaming, session, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "films")
    press(streaming, "record")
    assert streaming.actions_by_key["record"].isChecked()
    assert streaming.notices.text.startswith("Recording to ")
    press(streaming, "record")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    assert not streaming.actions_by_key["record"].isChecked()
    [path] = (tmp_path / "films").iterdir()
    assert cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT) >= 1


def test_closing_the_window_completes_a_recording(streaming, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "films")
    press(streaming, "record")
    streaming.close()
    [path] = (tmp_path / "films").iterdir()
    assert path.suffix == ".mp4"
    assert cv2.VideoCapture(str(path)).isOpened()


def test_a_recording_that_fails_is_a_problem_and_ends(streaming, tmp_path, monkeypatch, qtbot):
    (tmp_path / "file").touch()
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "file")
    press(streaming, "record")
    press(streaming, "record")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=5000)
    assert "could not be written" in streaming.problems.problems[0].summary
    assert not streaming.actions_by_key["record"].isChecked()


def test_there_is_nothing_to_record_before_the_first_picture(window):
    press(window, "record")
    assert window.notices.text == "There is no picture yet"
    assert not window.actions_by_key["record"].isChecked()
