"""The bar from smooth to sharp writes the config, follows it, and shows the measured rates."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine.config import EngineConfig
from app.engine.result import Timings
from app.settings import Settings
from app.ui.controllers.settings_mapping import config_from_settings, settings_with_config
from app.ui.main_window import MainWindow
from app.ui.speed.timing import Kind
from models.precision import Precision
from tests.app.ui.window.conftest import press


def test_the_bar_is_at_automatic_at_first(window):
    bar = window.panel.speed
    assert bar.title.text() == "Automatic"
    assert bar.slider.value() == bar.slider.maximum() // 2
    assert not bar.automatic.isVisible()


def test_moving_the_bar_changes_version_size_and_precision_together(window, session):
    slider = window.panel.speed.slider
    QTest.keyClick(slider, Qt.Key.Key_End)
    config = session.config
    assert (config.network, config.keep_strokes, config.kernels) == ("full", True, "fused")
    assert config.size == 1280
    assert window.panel.speed.title.text() == "Sharpest"
    QTest.keyClick(slider, Qt.Key.Key_Home)
    # The styles in these tests have no fast version.
    assert (session.config.network, session.config.size) == ("full", 384)
    assert window.panel.speed.title.text() == "Smoothest"
    QTest.mouseClick(window.panel.speed.automatic, Qt.MouseButton.LeftButton)
    assert session.config == EngineConfig(device="cpu")


def test_keys_move_the_bar(window, session):
    press(window, "sharper")
    assert window.panel.speed.title.text() == "Sharpest"
    press(window, "sharper")
    assert window.panel.speed.title.text() == "Sharpest"
    press(window, "automatic_speed")
    assert window.panel.speed.title.text() == "Automatic"
    press(window, "smoother")
    assert window.panel.speed.title.text() == "Smoothest"


@pytest.mark.parametrize(
    "change",
    [
        {"network": "full"},
        {"size": 512},
        {"strokes": "fine"},
        {"precision": Precision.bf16},
        {"kernels": "baseline"},
        {"keep_strokes": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_moved_by_hand_makes_the_bar_custom(window, session, change):
    session.config = replace(session.config, **change)
    bar = window.panel.speed
    assert bar.title.text() == "Custom"
    assert bar.automatic.isVisible()
    QTest.mouseClick(bar.automatic, Qt.MouseButton.LeftButton)
    assert bar.title.text() == "Automatic"
    assert session.config.strokes == change.get("strokes", "medium"), "as wide as they were"


def test_what_has_nothing_to_do_with_speed_leaves_the_bar(window, session):
    session.config = replace(session.config, strength=0.4, keep_colors=True, smoothing=0.5)
    assert window.panel.speed.title.text() == "Automatic"


def test_a_chosen_step_is_stored_and_comes_back(window, session, qtbot):
    press(window, "sharper")
    kept = settings_with_config(Settings(), session.config)
    session.config = EngineConfig(device="cpu")
    session.config = config_from_settings(kept, session.catalog)
    again = MainWindow(session, kept, lambda _: None)
    qtbot.addWidget(again)
    assert again.panel.speed.title.text() == "Sharpest"


def test_settings_of_before_keep_their_meaning(window, session):
    old = Settings(network="lite", size=512, precision="bf16")
    config = config_from_settings(old, session.catalog)
    assert (config.network, config.size, config.keep_strokes) == ("lite", 512, False)
    session.config = config
    assert window.panel.speed.title.text() == "Custom"


def test_both_ends_tell_their_rates_once_a_stream_was_measured(moving, qtbot):
    bar = moving.panel.speed
    qtbot.waitUntil(lambda: "fps" in bar.left.text(), timeout=5000)
    assert bar.right.text().startswith("about ")


def test_a_painting_that_moved_or_was_finished_again_is_not_measured(moving, session, qtbot):
    bar, times = moving.panel.speed, moving.panel.speed_control._machine.times
    qtbot.waitUntil(lambda: "fps" in bar.left.text(), timeout=5000)
    session.paused = True
    qtbot.wait(100)
    styled, added = moving.viewport.styled, []
    times.add = lambda *given: added.append(given)
    session.styled.emit(replace(styled, timings=Timings(motion=1.0, blend=1.0)))
    assert added == []
    session.styled.emit(styled)
    assert len(added) == 1


def test_other_kernels_make_what_was_measured_worthless(moving, session, qtbot):
    bar = moving.panel.speed
    qtbot.waitUntil(lambda: "fps" in bar.left.text(), timeout=5000)
    session.paused = True
    qtbot.wait(100)
    session.kernels_changed.emit(())
    assert not bar.left.text().strip()
    kind = Kind(False, Precision.fp32)
    assert moving.panel.speed_control._machine.times.of(kind, 3072) is None
