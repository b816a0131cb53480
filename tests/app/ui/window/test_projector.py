"""A second window shows the same frames without controls, for a projector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMenu

from app.engine.matting.cutout import KEY_COLOR
from app.options import GREEN, ONLY_PERSON
from app.ui.main_window import MainWindow
from app.ui.showing import controller
from app.ui.showing.controller import ONE_SCREEN
from app.ui.showing.projector import ProjectorWindow, other_screens, screen_title
from tests.app.ui.window.conftest import press
from tests.helpers.on_a_screen import told
from tests.helpers.windows import show_window
from utils.translation.texts import tr


@pytest.fixture
def projector(streaming, qtbot) -> ProjectorWindow:
    press(streaming, "projector")
    projector = streaming.showing.projector
    assert projector is not None
    show_window(projector, qtbot)
    return projector


def is_checked(window: MainWindow) -> bool:
    return window.actions_by_key["projector"].isChecked()


def key(projector: ProjectorWindow, window: MainWindow, action: str) -> None:
    projector.activateWindow()
    QTest.keySequence(projector, window.actions_by_key[action].shortcut())


def pixels_of(projector: ProjectorWindow) -> np.ndarray:
    """Return the visible pixels, [H, W, 3]."""
    image = projector.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def test_it_shows_the_picture_on_black_and_nothing_else(projector):
    assert not projector.findChildren(QAbstractButton)
    shown = pixels_of(projector)
    assert tuple(shown[shown.shape[0] // 2, shown.shape[1] // 2]) == (0, 255, 255)
    assert not shown[:, :20].any(), "a picture of 4:3 has black at its sides"
    assert not shown[:, -20:].any()


def test_a_green_rest_goes_on_beside_the_picture(streaming, projector, session, picture):
    session.config = replace(session.config, matte=str(picture), paint=ONLY_PERSON, rest=GREEN)
    keyed = replace(streaming.viewport.styled, config=session.config)
    projector.show_styled(keyed)
    shown = pixels_of(projector)
    assert (shown[:, :20] == KEY_COLOR).all()
    assert (shown[:, -20:] == KEY_COLOR).all()
    projector.show_styled(replace(keyed, config=session.config.without_matte()))
    assert not pixels_of(projector)[:, :20].any()


def test_it_shows_the_very_frames_of_the_window(moving, session, qtbot):
    press(moving, "projector")
    projector = moving.showing.projector
    made = []
    session.styled.connect(made.append)
    qtbot.waitUntil(lambda: len(made) > 3)
    assert projector.picture.styled is moving.viewport.styled


def test_its_frames_are_not_counted_as_painted_twice(moving, session, qtbot):
    press(moving, "projector")
    painted = []
    # keeps them alive, so that no two have the same address
    session.painted.connect(painted.append)
    qtbot.waitUntil(lambda: len(painted) > 5)
    assert len(set(map(id, painted))) == len(painted)


def test_escape_closes_it_and_the_window_stays(streaming, projector):
    assert is_checked(streaming)
    QTest.keyClick(projector, Qt.Key.Key_Escape)
    assert streaming.showing.projector is None
    assert not is_checked(streaming)
    assert streaming.isVisible()


def test_escape_leaves_its_full_screen_first(streaming, projector):
    projector.showFullScreen()
    QTest.keyClick(projector, Qt.Key.Key_Escape)
    assert (projector.isVisible(), projector.isFullScreen()) == (True, False)
    assert projector.cursor().shape() == Qt.CursorShape.ArrowCursor
    QTest.keyClick(projector, Qt.Key.Key_Escape)
    assert streaming.showing.projector is None


def test_the_keys_of_the_window_work_in_it(streaming, projector, session):
    key(projector, streaming, "style_3")
    assert session.config.style == "udnie"
    key(projector, streaming, "fullscreen")
    assert not streaming.isFullScreen()


def test_the_key_again_closes_it(streaming, projector):
    key(projector, streaming, "projector")
    assert streaming.showing.projector is None
    assert not is_checked(streaming)


def test_closing_the_window_asks_first_and_then_closes_it(streaming, projector):
    streaming.close()
    assert streaming.isVisible()
    assert projector.isVisible()
    assert tr("the projector window closes") in streaming.questions.accessibleDescription()
    streaming.questions.accept.click()
    assert streaming.showing.projector is None
    assert not streaming.isVisible()


def test_the_window_shows_that_it_is_open(streaming, projector):
    assert streaming.status.projector.isVisible()
    projector.close()
    assert not streaming.status.projector.isVisible()


def test_with_one_screen_it_is_a_window_and_why_is_said(streaming, projector):
    assert not projector.isFullScreen()
    assert streaming.notices.text == ONE_SCREEN
    assert not projector.windowIcon().isNull()
    room, frame = projector.screen().availableGeometry(), projector.frameGeometry()
    assert frame.top() - room.top() < 50, "the message below the picture stays in sight"


def test_a_double_click_fills_the_screen_and_hides_the_pointer(projector):
    QTest.mouseDClick(projector, Qt.MouseButton.LeftButton)
    assert projector.isFullScreen()
    assert projector.cursor().shape() == Qt.CursorShape.BlankCursor
    QTest.mouseDClick(projector, Qt.MouseButton.LeftButton)
    assert not projector.isFullScreen()


def test_of_several_screens_one_is_chosen(streaming, monkeypatch):
    here = streaming.screen()
    monkeypatch.setattr(controller, "other_screens", lambda _: [here, here])
    press(streaming, "projector")
    assert streaming.showing.projector is None
    assert not is_checked(streaming)
    [menu] = [m for m in streaming.findChildren(QMenu) if m.isVisible()]
    assert [each.text() for each in menu.actions()] == [screen_title(here)] * 2
    menu.actions()[1].trigger()
    menu.close()
    projector = streaming.showing.projector
    assert projector is not None
    assert projector.isFullScreen()
    assert is_checked(streaming)


def test_streams_are_styled_in_the_size_of_the_larger_of_both(streaming, session, qtbot):
    loop = session._worker.loop
    session.set_least_size(640, 2000, "virtual camera")
    press(streaming, "projector")
    qtbot.waitUntil(lambda: loop._least == (960, 2000))
    streaming.showing.projector.close()
    qtbot.waitUntil(lambda: loop._least == (640, 2000))


def test_it_is_mirrored_as_the_window_is(streaming, projector):
    key(projector, streaming, "mirror")
    assert projector.picture.mirrored
    key(projector, streaming, "mirror")
    assert not projector.picture.mirrored


@pytest.mark.full
def test_on_two_screens_it_fills_the_other_one(tmp_path):
    facts = told(
        tmp_path,
        """
press("projector")
projector = window.showing.projector
told["screen"] = projector.screen().name()
told["full"] = projector.isFullScreen()
told["size"] = projector.size().toTuple()
told["said"] = window.notices.text
QTest.keyClick(projector, Qt.Key.Key_Escape)
QTest.keyClick(projector, Qt.Key.Key_Escape)
told["closed"] = window.showing.projector is None
""",
        1280,
        800,
        second=(1920, 1080),
    )
    assert facts == {
        "screen": "second",
        "full": True,
        "size": [1920, 1080],
        "said": "",
        "closed": True,
    }


def test_the_screen_of_the_window_is_none_of_the_others(window):
    assert window.screen() not in other_screens(window)
