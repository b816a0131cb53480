"""The badge shows frames per second in the corner of the picture and opens the figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.errors import Problem
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.speed.badge import fps_text
from tests.app.ui.window.conftest import press


@pytest.mark.parametrize(
    ("fps", "text"),
    [
        (14.8, "15 fps"),
        (120.4, "120 fps"),
        (1.52, "1.5 fps"),
        (0.24, "0.2 fps"),
        (0.04, "25 s a picture"),
    ],
)
def test_the_rate_is_short_and_never_none_of_a_slow_stream(fps, text):
    assert fps_text(fps) == text


def test_a_stream_shows_its_frames_a_second_in_the_corner(moving, session, qtbot):
    session.config = replace(session.config, fluid=False)  # a slow machine paints and shows
    qtbot.waitUntil(moving.badge.isVisible, timeout=5000)
    assert moving.badge.text().endswith(" fps")
    assert float(moving.badge.text().split()[0]) > 0
    assert moving.viewport.rect().contains(moving.badge.geometry())
    assert moving.badge.x() < 40
    assert moving.badge.y() < 40


def test_a_click_on_the_badge_opens_the_figures_in_its_place(moving, qtbot):
    qtbot.waitUntil(moving.badge.isVisible, timeout=5000)
    QTest.mouseClick(moving.badge, Qt.MouseButton.LeftButton)
    assert moving.overlay.isVisible()
    assert not moving.badge.isVisible()
    press(moving, "overlay")
    qtbot.waitUntil(moving.badge.isVisible)


def test_the_badge_can_be_switched_off_and_stays_off(moving, saved, qtbot):
    qtbot.waitUntil(moving.badge.isVisible, timeout=5000)
    press(moving, "badge")
    moving.badge.refresh()
    assert not moving.badge.isVisible()
    moving.close()
    assert not saved[-1].badge


def test_a_badge_that_is_off_comes_back_off(session, qtbot):
    window = MainWindow(session, Settings(badge=False), lambda _: None)
    qtbot.addWidget(window)
    assert not window.actions_by_key["badge"].isChecked()


def test_a_still_picture_has_no_rate(streaming):
    streaming.badge.refresh()
    assert not streaming.badge.isVisible()


def test_the_badge_is_not_on_a_comparison(moving, qtbot):
    qtbot.waitUntil(moving.badge.isVisible, timeout=5000)
    moving.views.choose("compare")
    qtbot.waitUntil(lambda: moving.viewport.styled.comparison is not None)
    qtbot.waitUntil(lambda: not moving.badge.isVisible())


def test_a_message_does_not_move_the_badge(moving, session, qtbot):
    before = moving.badge.geometry()
    session.problem.emit(Problem("something"))
    qtbot.wait(20)
    assert moving.problems.isVisible()
    assert moving.badge.pos() == before.topLeft()


def test_the_painted_badge_follows_its_text_and_the_focus(moving, qtbot):
    qtbot.waitUntil(moving.badge.isVisible, timeout=5000)
    moving.badge.setText("10 fps")
    painted = moving.badge.grab().toImage()
    moving.badge.setText("20 fps")
    other = moving.badge.grab().toImage()
    assert other != painted
    moving.badge.setText("10 fps")
    assert moving.badge.grab().toImage() == painted
    moving.badge.setFocus()
    qtbot.waitUntil(moving.badge.hasFocus)
    assert moving.badge.grab().toImage() != painted
