"""The playback bar appears for videos and strips, and emits nothing when it follows."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from app.frame import SourceInfo
from app.ui import actions
from app.ui.player.bar import TICKS, PlaybackBar


@pytest.fixture
def transport(qtbot) -> PlaybackBar:
    parent = QWidget()
    qtbot.addWidget(parent)
    made = actions.build_actions(parent, {entry.key: int for entry in actions.ACTIONS})
    transport = PlaybackBar(made, parent)
    parent.show()
    transport.keep_alive = parent  # type: ignore[attr-defined]
    return transport


def test_the_transport_shows_only_for_videos_and_strips(transport):
    for info, shown in (
        (SourceInfo("camera", 64, 48, 30.0), False),
        (SourceInfo("film", 64, 48, 25.0, duration=65.0), True),
        (SourceInfo("strip", 64, 48, count=3), True),
        (None, False),
    ):
        transport.show_source(info)
        assert transport.isVisible() == shown


def test_the_slider_follows_the_video_silently_and_seeks_when_moved(transport, qtbot):
    transport.show_source(SourceInfo("film", 64, 48, 25.0, duration=65.0))
    with qtbot.assertNotEmitted(transport.seek_requested):
        transport.show_position(30.0)
    assert transport.slider.value() == 30 * TICKS
    assert any(label.text() == "0:30 / 1:05" for label in transport.findChildren(QLabel))
    with qtbot.waitSignal(transport.seek_requested) as blocker:
        QTest.keyClick(transport.slider, Qt.Key.Key_Home)
    assert blocker.args == [0.0]


def test_a_strip_counts_its_pictures(transport):
    transport.show_source(SourceInfo("strip", 64, 48, count=3))
    transport.show_position(2.0)
    assert any(label.text() == "3 of 3" for label in transport.findChildren(QLabel))
    assert transport.slider.isHidden()  # pictures do not play
    shown = [b.defaultAction().objectName() for b in transport.findChildren(QToolButton)
             if not b.isHidden()]  # fmt: skip
    assert shown == ["previous", "next"]
