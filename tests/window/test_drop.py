"""Drop and paste: what can be opened or installed is, and what cannot is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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
from PySide6.QtWidgets import QApplication

from app.ui.main_window import MainWindow
from tests.window.conftest import press
from utils.image_utils import save_image


def drop(window: MainWindow, data: QMimeData) -> None:
    drag(window, data)
    QApplication.sendEvent(window, QDropEvent(*_at(data)))


def drag(window: MainWindow, data: QMimeData) -> None:
    place, *rest = _at(data)
    QApplication.sendEvent(window, QDragEnterEvent(place.toPoint(), *rest))


def _at(data: QMimeData) -> tuple:
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    return QPointF(200, 200), Qt.DropAction.CopyAction, data, left, plain


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def test_a_dropped_picture_opens(window, session, picture, qtbot):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(picture))
    assert "waves" in window.windowTitle()


def test_dropped_pictures_make_a_strip_to_step_through(window, session, picture, tmp_path, qtbot):
    second = tmp_path / "second.png"
    save_image(second, np.zeros((48, 64, 3), np.uint8))
    with qtbot.waitSignal(session.styled, timeout=5000):
        drop(window, files(picture, second))
    qtbot.waitUntil(window.transport.isVisible)
    press(window, "next")
    qtbot.waitUntil(lambda: session.position == 1.0)


def test_a_dropped_document_is_refused_with_a_reason(window):
    drop(window, files(Path("/x/letter.pdf")))
    [problem] = window.problems.problems
    assert problem.summary.startswith("'letter.pdf' cannot be opened. Pictures,")
    assert window.viewport._offer is None


def test_a_drag_that_leaves_takes_its_words_along(window):
    drag(window, files(Path("/x/a.png")))
    assert window.viewport._offer[0] == "Drop to open"
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert window.viewport._offer is None


def test_dropped_weights_ask_for_a_title_and_install(window, session, monkeypatch):
    installed: list[tuple[Path, str]] = []
    monkeypatch.setattr(session, "install_style", lambda *args: installed.append(args))
    drop(window, files(Path("/x/deep_sea.pth")))
    assert window.questions.field.text() == "Deep Sea"
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)
    assert installed == [(Path("/x/deep_sea.pth"), "Deep Sea")]
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
