"""Drop and paste open or install what is supported, and refuse the rest with a reason."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QImage,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.styles.catalog import Catalog
from app.ui.training.window import TrainingWindow
from models.transformer_net import TransformerNetBaseline
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions
from utils.images.writing import write_pixels
from utils.pyav import av

COPY, MOVE = Qt.DropAction.CopyAction, Qt.DropAction.MoveAction


def drop(window: QWidget, data: QMimeData, actions: Qt.DropAction = COPY) -> QDropEvent:
    drag(window, data, actions)
    event = QDropEvent(*_at(data, actions))
    QApplication.sendEvent(window, event)
    return event


def drag(window: QWidget, data: QMimeData, actions: Qt.DropAction = COPY) -> QDragEnterEvent:
    place, *rest = _at(data, actions)
    event = QDragEnterEvent(place.toPoint(), *rest)
    QApplication.sendEvent(window, event)
    return event


def _at(data: QMimeData, actions: Qt.DropAction) -> tuple:
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    shift = Qt.KeyboardModifier.ShiftModifier  # makes a source propose a move
    return QPointF(200, 200), actions, data, left, plain if actions == COPY else shift


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def test_a_dropped_picture_opens(window, session, picture, qtbot):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(picture))
    assert "waves" in window.windowTitle()


def test_a_drop_is_a_copy_even_where_a_move_is_proposed(window, session, picture, qtbot):
    data = files(picture)
    entered = drag(window, data, COPY | MOVE)
    assert entered.proposedAction() == MOVE
    assert (entered.isAccepted(), entered.dropAction()) == (True, COPY)
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        dropped = drop(window, data, COPY | MOVE)
    assert dropped.proposedAction() == MOVE
    assert (dropped.isAccepted(), dropped.dropAction()) == (True, COPY)


def test_where_only_a_move_is_offered_the_file_is_opened_and_stays(window, session, picture, qtbot):
    data = files(picture)
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        dropped = drop(window, data, MOVE)
    assert dropped.dropAction() == Qt.DropAction.IgnoreAction


def test_a_drop_into_the_studio_is_a_copy_too(window, session, picture, qtbot):
    studio = TrainingWindow(session, lambda: None, lambda **_: None, window.file_dialogs, window)
    studio.show()
    data = files(picture)
    dropped = drop(studio, data, COPY | MOVE)
    assert (dropped.proposedAction(), dropped.dropAction()) == (MOVE, COPY)
    qtbot.waitUntil(lambda: studio.form.missing_input == "Choose the photographs to train on")
    studio.close()


def test_dropped_pictures_make_a_strip_to_step_through(window, session, picture, tmp_path, qtbot):
    second = tmp_path / "second.png"
    write_pixels(second, np.zeros((48, 64, 3), np.uint8))
    drop(window, files(picture, second))
    assert window.questions.isVisible()
    assert session.info is None
    with qtbot.waitSignal(session.styled, timeout=5000):
        window.questions.other.click()
    qtbot.waitUntil(window.playback_bar.isVisible)
    press(window, "next")
    qtbot.waitUntil(lambda: session.position == 1.0)


def picture_data(address: str = "") -> QMimeData:
    data = QMimeData()
    image = QImage(64, 48, QImage.Format.Format_RGB32)
    image.fill(QColor(200, 40, 40))
    data.setImageData(image)
    if address:
        data.setUrls([QUrl(address)])
    return data


@pytest.mark.parametrize(
    ("pasted", "address"),
    [
        (False, "data:image/png;base64,iVBORw0KGgo="),
        (False, "file:///x/gone.png"),
        (True, ""),
        (True, "http://127.0.0.1:9/a.png"),
        pytest.param(False, "", marks=pytest.mark.full),
        pytest.param(False, "http://127.0.0.1:9/a.png", marks=pytest.mark.full),
        pytest.param(True, "data:image/png;base64,iVBORw0KGgo=", marks=pytest.mark.full),
        pytest.param(True, "file:///x/gone.png", marks=pytest.mark.full),
    ],
)
def test_a_picture_opens_beside_an_address_that_does_not(window, session, qtbot, address, pasted):
    with qtbot.waitSignal(session.source_changed, timeout=10000):
        if pasted:
            QGuiApplication.clipboard().setMimeData(picture_data(address))
            window.actions_by_key["paste"].trigger()
        else:
            drop(window, picture_data(address))
    assert "Pasted" in window.windowTitle()
    assert not window.problems.problems


@pytest.mark.parametrize(
    "name",
    [
        "photo",
        "photo.jpg_large",
        pytest.param("photo.jfif", marks=pytest.mark.full),
        pytest.param("photo.txt", marks=pytest.mark.full),
    ],
)
def test_a_dropped_picture_opens_whatever_it_is_called(window, session, picture, qtbot, name):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(picture.rename(picture.with_name(name))))
    assert "photo" in window.windowTitle()


@pytest.mark.parametrize(
    "name", ["MOV001.MOD", "film", pytest.param("pi.h264", marks=pytest.mark.full)]
)
def test_a_dropped_film_of_a_camera_opens(window, session, tmp_path, qtbot, name):
    coded = {"MOV001.MOD": ("mpeg", "mpeg2video"), "pi.h264": ("h264", "libx264")}
    container, codec = coded.get(name, ("mpegts", "libx264"))
    with av.open(str(tmp_path / name), "w", format=container) as film:
        stream = cast("av.VideoStream", film.add_stream(codec, rate=25))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(5):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 40 * number, np.uint8))
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(tmp_path / name))
    assert name in window.windowTitle()


def test_a_dropped_document_is_refused_with_a_reason(window):
    drop(window, files(Path("/x/letter.pdf")))
    [problem] = window.problems.problems
    assert mentions(problem.summary, "letter.pdf", "cannot be opened")
    assert window.viewport._drop_hint is None


def test_a_drag_that_leaves_takes_its_words_along(window):
    drag(window, files(Path("/x/a.png")))
    assert window.viewport._drop_hint[0] == "Drop to open"
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert window.viewport._drop_hint is None


def checkpoint(path: Path) -> Path:
    torch.save(TransformerNetBaseline(1).state_dict(), path)
    return path


def test_a_title_that_is_taken_is_offered_with_a_number(window, tmp_path, qtbot):
    drop(window, files(checkpoint(tmp_path / "candy.pth")))
    qtbot.waitUntil(window.questions.isVisible)
    assert window.questions.field.text() == "Candy 2"


def test_weights_that_cannot_be_used_are_refused_before_anything_is_asked(window, tmp_path, qtbot):
    path = tmp_path / "letter\x1b[31m.pth"
    path.write_text("Dear Sir")
    drop(window, files(path))
    qtbot.waitUntil(lambda: bool(window.problems.problems))
    [problem] = window.problems.problems
    assert mentions(problem.summary, r"letter\x1b[31m.pth", "a text file")
    assert not window.questions.isVisible()


def test_only_the_newest_of_two_drops_asks(window, tmp_path, qtbot, monkeypatch):
    waiting = threading.Event()
    installable_title = window.session.catalog.installable_title

    def slow(path: Path) -> str:
        if path.name == "first.pth":
            assert waiting.wait(10)
        return installable_title(path)

    monkeypatch.setattr(window.session.catalog, "installable_title", slow)
    drop(window, files(checkpoint(tmp_path / "first.pth")))
    drop(window, files(checkpoint(tmp_path / "second.pth")))
    qtbot.waitUntil(window.questions.isVisible)
    waiting.set()
    qtbot.waitUntil(lambda: not window.session._jobs._callbacks)  # the first has finished too
    assert window.questions.field.text() == "Second"


def test_pasted_text_that_no_path_can_be_is_refused(window):
    QGuiApplication.clipboard().setText("/" + "a" * 5000)
    press(window, "paste")
    [problem] = window.problems.problems
    assert problem.summary.startswith("This cannot be opened.")


def test_dropped_weights_ask_for_a_title_and_install(window, session, monkeypatch, tmp_path, qtbot):
    installed: list[tuple[Path, str]] = []
    monkeypatch.setattr(session.user_styles, "install", lambda *args: installed.append(args))
    path = checkpoint(tmp_path / "deep_sea.pth")
    drop(window, files(path))
    qtbot.waitUntil(window.questions.isVisible)
    assert window.questions.field.text() == "Deep Sea"
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)
    assert installed == [(path, "Deep Sea")]
    assert not window.questions.isVisible()


def test_a_copied_picture_is_pasted(window, session, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    QGuiApplication.clipboard().setImage(image)
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        press(window, "paste")
    assert (session.info.width, session.info.height) == (40, 30)


def test_pasting_nothing_says_so(window):
    QGuiApplication.clipboard().clear()
    press(window, "paste")
    [problem] = window.problems.problems
    assert "nothing on the clipboard" in problem.summary


def test_several_styles_are_dropped_at_once_and_a_damaged_one_stops_none(
    window, session, tmp_path, qtbot
):
    shipped = Catalog.default()
    candy = shipped.export_file("candy", tmp_path / "sweet")
    broken = tmp_path / "broken.styleforge"
    broken.write_bytes(candy.read_bytes()[:1000])
    mosaic = shipped.export_file("mosaic", tmp_path / "stones")
    told: list[str] = []
    session.notice.connect(told.append)
    drop(window.gallery, files(candy, broken, mosaic))
    qtbot.waitUntil(lambda: session.config.style == "mosaic_2", timeout=10000)
    assert window.gallery.keys == ["candy", "mosaic", "udnie", "candy_2", "mosaic_2"]
    assert any("Candy 2, Mosaic 2" in each for each in told)
    (problem,) = window.problems.problems
    assert mentions(problem.summary, "broken.styleforge", "a style file")
