"""Keys change the view, the overlay and the status line show what runs, and no text is cut off."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QToolButton, QWidget

from app.live.session import Session
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.theme.theme import Theme
from tests.app.ui.window.conftest import press


def test_keys_change_the_view(streaming, session, qtbot):
    press(streaming, "view_split")
    assert streaming.viewport.view == "split"
    press(streaming, "compare")
    assert session.config.compare
    qtbot.waitUntil(lambda: streaming.viewport.styled.comparison is not None)
    press(streaming, "compare")
    assert streaming.viewport.view == "split"
    assert not session.config.compare
    press(streaming, "cycle_view")
    press(streaming, "cycle_view")
    assert streaming.viewport.view == "styled"
    assert streaming.actions_by_key["view_styled"].isChecked()


def test_a_config_without_comparison_leaves_the_compare_view(streaming, session):
    streaming.views.choose("compare")
    session.config = replace(session.config, compare=False)
    assert streaming.viewport.view == "styled"


def test_in_the_split_view_arrow_keys_move_the_divider_first(streaming):
    press(streaming, "view_split")
    QTest.keyClick(streaming.viewport, Qt.Key.Key_Left)
    assert streaming.viewport.split == pytest.approx(0.48)


def test_the_overlay_leaves_a_comparison_free(streaming, qtbot):
    streaming.resize(streaming.minimumSizeHint())
    press(streaming, "overlay")
    streaming.views.choose("compare")
    qtbot.waitUntil(lambda: streaming.viewport.styled.comparison is not None)
    qtbot.waitUntil(lambda: streaming.viewport._headroom > 0)
    overlay = streaming.overlay.geometry()
    assert streaming.viewport.rect().contains(overlay)
    assert streaming.viewport._headroom >= overlay.bottom()
    assert overlay.bottom() < streaming.viewport.height() / 2
    press(streaming, "overlay")
    assert streaming.viewport._headroom == 0


def test_the_figures_are_off_at_first_and_toggle(streaming):
    assert not streaming.overlay.isVisible()
    press(streaming, "overlay")
    assert streaming.overlay.isVisible()
    press(streaming, "overlay")
    assert not streaming.overlay.isVisible()


def timings_asked_of(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list to which the session adds whether it has the layers timed."""
    asked: list[bool] = []
    post = session._post

    def posts(command, *args):
        if command == session._loop.time_layers:
            asked.extend(args)
        post(command, *args)

    monkeypatch.setattr(session, "_post", posts)
    return asked


def test_a_key_times_every_layer_and_shows_the_figures_for_it(
    window, session, saved, qtbot, monkeypatch
):
    asked = timings_asked_of(session, monkeypatch)
    action = window.actions_by_key["layers"]
    press(window, "layers")
    assert action.isChecked()
    assert window.overlay.isVisible()
    assert asked == [True]
    press(window, "overlay")
    assert not action.isChecked()
    assert asked == [True, False], "layers that nobody sees are not timed"
    press(window, "overlay")
    assert asked == [True, False, True]
    press(window, "layers")
    assert asked == [True, False, True, False]
    assert window.overlay.isVisible()
    press(window, "layers")
    qtbot.waitUntil(lambda: bool(saved))
    assert saved[-1].layers


def test_that_layers_are_timed_is_remembered(session, qtbot, monkeypatch):
    asked = timings_asked_of(session, monkeypatch)
    window = MainWindow(session, Settings(layers=True, overlay=True), lambda _: None)
    qtbot.addWidget(window)
    assert asked == [True]
    assert window.actions_by_key["layers"].isChecked()


def test_the_status_line_says_what_runs_where(streaming):
    plain = "Runs on the processor. Fine version of the style"
    assert streaming.status.running.text() == plain
    assert "kernel" not in plain
    press(streaming, "details")
    assert streaming.notices.text == "Fused, FP32, CPU: no CUDA device"
    assert streaming.status.running.toolTip() == f"{plain}\n{streaming.notices.text}"
    assert streaming.status.details.isVisible()
    assert "64x48" in streaming.status.source.text()


def test_each_picture_is_reported_as_shown(streaming, session, qtbot):
    qtbot.waitUntil(lambda: session.metrics.stats(time.perf_counter()).paint_ms > 0)


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_no_text_is_cut_off_at_1280_by_800(streaming, choice, qtbot):
    theme: Theme = streaming.theme
    theme.choice = choice
    streaming.resize(1280, 800)
    qtbot.wait(50)
    assert (streaming.width(), streaming.height()) == (1280, 800)
    for widget in streaming.findChildren(QWidget):
        if not widget.isVisible() or not isinstance(widget, (QAbstractButton, QLabel)):
            continue
        wraps = isinstance(widget, QLabel) and widget.wordWrap()
        needed = widget.minimumSizeHint()
        assert wraps or widget.width() >= needed.width(), widget.text()
        # Qt adds 3 pixels to a tool button's hint, on top of the style sheet.
        extra = 3 if isinstance(widget, QToolButton) else 0
        assert widget.height() >= needed.height() - extra or wraps, widget.text()


def test_the_window_fits_1280_by_800_with_larger_fonts(session, qapp, qtbot):
    font = qapp.font()
    larger = qapp.font()
    larger.setPointSizeF(font.pointSizeF() * 1.25)
    qapp.setFont(larger)
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    try:
        window.show()
        assert window.minimumSizeHint().width() <= 1280
        assert window.minimumSizeHint().height() <= 800
    finally:
        qapp.setFont(font)
        window.theme.choice = "system"
