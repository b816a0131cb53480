"""The overlay: a line for every figure, drawn seldom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.live.flicker import Flicker
from app.live.stream_metrics import StreamStats
from app.ui.viewport.stats_overlay import REDRAW_MS, Overlay, overlay_rows
from models.precision import Precision


def result() -> StyledFrame:
    frame = Frame(np.zeros((24, 32, 3), np.uint8))
    running = RunInfo("Fused", Precision.fp32, "CPU")
    return StyledFrame(frame, frame, EngineConfig(), Timings(), (288, 208), running)


@pytest.fixture
def reading() -> StreamStats:
    timings = Timings(1.0, 0.5, 40.0, 0.7, (("encoder", 10.0), ("decoder", 12.0)), 3.5)
    bottleneck = "limited by the network"
    return StreamStats(
        30.0, 24.9, 24.9, 61.0, 70.0, 3, timings, 1.5, 2.0, bottleneck, Flicker(3.0, 2.0)
    )


def test_the_overlay_has_a_line_for_every_figure(reading):
    said = dict(overlay_rows(reading, result()))
    assert said["Captured"] == "30.0 fps"
    assert said["Capture to paint"] == "61 ms, p95 70 ms"
    assert said["Dropped"] == "3"
    assert said["Network input"] == "288 x 208"
    assert said["    Encoder"] == "10.0 ms"
    assert said["Blend"] == "3.5 ms"
    assert said["Paint"] == "2.0 ms"
    assert said["Flicker"] == "1.50x the source's change"


def test_rates_that_are_not_known_are_left_out():
    assert "Captured" not in dict(overlay_rows(StreamStats(), result()))


def test_the_overlay_text_is_drawn_at_most_four_times_a_second(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(400, 400)
    asked: list[int] = []

    def read() -> StreamStats:
        asked.append(len(asked))
        return replace(reading, dropped=len(asked))

    overlay = Overlay(read, result, lambda _: None, parent)
    parent.show()
    qtbot.waitExposed(parent)
    before = overlay.redraws
    for _ in range(40):  # as a stream does
        overlay.repaint()
        qtbot.wait(25)
    assert REDRAW_MS >= 250
    assert 1 <= overlay.redraws - before <= 5
    assert overlay.redraws == len(asked)
    assert "limited by the network" in overlay.accessibleDescription()


def test_a_hidden_overlay_reads_nothing(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    overlay = Overlay(lambda: pytest.fail("read"), result, lambda _: None, parent)
    overlay.hide()
    overlay.refresh()
    assert overlay.redraws == 0


def test_a_picture_that_stands_still_goes_on_showing_what_it_took():
    styled = replace(result(), timings=Timings(1.0, 0.5, 40.0, 0.7))
    said = dict(overlay_rows(StreamStats(), styled))
    assert said["Network"] == "40.0 ms"
    assert "Paint" not in said
    assert "Dropped" not in said
