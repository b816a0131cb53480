"""The user tries a style on the picture without choosing it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest

from app.settings import Settings
from app.ui.gallery.style_trial import DELAY_MS
from tests.app.ui.window.conftest import press


@pytest.fixture
def window(window):
    window.resize(1280, 800)
    return window


def shown(window) -> str:
    return window.viewport.styled.config.style


def point_at(window, key: str) -> None:
    view = window.gallery.view
    index = window.gallery.model.index(window.gallery.model.row_of(key))
    center = view.visualRect(index).center()
    QTest.mouseMove(view.viewport(), center + QPoint(2, 0))  # the pointer may rest on the center
    QTest.qWait(20)
    QTest.mouseMove(view.viewport(), center)


def leave(window) -> None:
    QTest.mouseMove(window.viewport, QPoint(100, 100))
    QCoreApplication.sendEvent(window.gallery.view.viewport(), QEvent(QEvent.Type.Leave))


@pytest.fixture
def trying(streaming, qtbot):
    point_at(streaming, "mosaic")
    qtbot.waitUntil(lambda: shown(streaming) == "mosaic")
    return streaming


def test_pointing_at_a_card_shows_its_style_after_a_moment(streaming, qtbot):
    point_at(streaming, "mosaic")
    assert streaming.session.choice.tried == ""
    qtbot.wait(DELAY_MS // 2)
    assert streaming.session.choice.tried == ""
    qtbot.waitUntil(lambda: shown(streaming) == "mosaic")
    index = streaming.gallery.model.index(1)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Mosaic, key 2, being tried"


def test_a_card_that_appears_under_a_resting_pointer_is_not_tried(streaming, qtbot):
    view = streaming.gallery.view
    center = view.visualRect(streaming.gallery.model.index(1)).center()
    view.hide()
    QCursor.setPos(view.viewport().mapToGlobal(center))
    view.show()
    QTest.mouseMove(view.viewport(), center)  # Qt sends this move, to where the pointer rests
    view.entered.emit(streaming.gallery.model.index(1))  # also sent when cards scroll
    qtbot.wait(2 * DELAY_MS)
    assert streaming.session.choice.tried == ""
    QTest.mouseMove(view.viewport(), center + QPoint(1, 0))
    qtbot.waitUntil(lambda: shown(streaming) == "mosaic")


def test_a_card_that_scrolls_under_the_pointer_ends_the_trial_of_another(trying, qtbot):
    trying.gallery.view.entered.emit(trying.gallery.model.index(2))
    qtbot.waitUntil(lambda: shown(trying) == "candy")


def test_leaving_the_card_brings_the_own_style_back(trying, qtbot):
    leave(trying)
    qtbot.waitUntil(lambda: shown(trying) == "candy")


def test_a_trial_touches_neither_the_choice_nor_the_settings(trying, session, saved, qtbot):
    changes: list[object] = []
    session.config_changed.connect(changes.append)
    leave(trying)
    point_at(trying, "udnie")
    qtbot.waitUntil(lambda: shown(trying) == "udnie")
    assert session.config.style == "candy"
    assert trying.settings.current().style == "candy"
    assert trying.gallery.view.currentIndex().data() == "Candy"
    assert changes == []


def test_a_click_chooses_what_is_tried(trying, session, qtbot):
    view = trying.gallery.view
    center = view.visualRect(trying.gallery.model.index(1)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=center)
    assert (session.config.style, session.choice.tried) == ("mosaic", "")
    qtbot.wait(50)
    assert shown(trying) == "mosaic"


def test_keys_try_one_style_after_another_and_escape_returns(streaming, session, qtbot):
    press(streaming, "try_style")
    qtbot.waitUntil(lambda: shown(streaming) == "mosaic")
    QTest.keyClick(streaming.gallery.view, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: shown(streaming) == "udnie")
    assert session.config.style == "candy"
    QTest.keyClick(streaming.gallery.view, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: shown(streaming) == "candy")


def test_enter_chooses_the_style_that_is_tried(streaming, session, qtbot):
    press(streaming, "try_style")
    QTest.keyClick(streaming.gallery.view, Qt.Key.Key_Return)
    assert (session.config.style, session.choice.tried) == ("mosaic", "")


def test_trying_once_around_returns_to_the_own_style(streaming, session):
    tried: list[str] = []
    session.tried_changed.connect(tried.append)
    streaming.gallery.view.setFocus()
    for _ in range(3):
        QTest.keyClick(streaming.gallery.view, Qt.Key.Key_T)
    assert tried == ["mosaic", "udnie", ""]


def test_pointing_tries_nothing_when_that_is_turned_off(streaming, session, qtbot):
    press(streaming, "try_on_hover")
    point_at(streaming, "mosaic")
    qtbot.wait(2 * DELAY_MS)
    assert session.choice.tried == ""
    assert streaming.settings.current().try_styles is False
    assert Settings().try_styles is True


def test_nothing_is_tried_on_a_recording(trying, session, qtbot):
    session.hold(True)
    assert session.choice.tried == ""
    with qtbot.waitSignal(session.notice) as blocker:
        press(trying, "try_style")
    assert "while you record" in blocker.args[0]
    session.hold(False)


def test_nothing_is_tried_on_the_virtual_camera(trying, session):
    session.set_least_size(640, 480, "virtual camera")
    assert session.choice.tried == ""
    assert "virtual camera" in session.trial_refusal("mosaic")


def test_a_style_that_cannot_be_tried_leaves_the_choice(trying, session, qtbot):
    session.choice.refuse(session.config)
    assert (session.config.style, session.choice.tried) == ("candy", "")
    qtbot.waitUntil(lambda: shown(trying) == "candy")
