"""Large frames carry a small copy, so that drawing them never blocks the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QSize, Qt

from app.engine.config import EngineConfig
from app.engine.result import Comparison, LatencyStats, RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.live.display_copy import (
    MANY_PIXELS,
    for_display,
    screen_size,
    with_preview,
    with_previews,
)
from app.ui.viewport.scaling import scale_frame
from models.precision import Precision


def shaded(width: int, height: int) -> Frame:
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[...] = np.linspace(0, 255, width)[None, :, None]
    pixels[..., 1] = np.linspace(255, 0, height)[:, None]
    return Frame(pixels, index=7)


def test_a_frame_of_few_pixels_is_left_as_it_is():
    frame = shaded(2000, 2000)
    assert with_preview(frame) is frame


def test_a_small_copy_is_the_same_picture_with_few_pixels():
    frame = with_preview(shaded(3001, 2003))
    assert frame.preview is not None
    assert frame.preview.width * frame.preview.height <= MANY_PIXELS
    assert frame.preview.index == 7
    assert with_preview(frame) is frame, "made once"
    near = scale_frame(shaded(3001, 2003), 600, 400).pixels.astype(int)
    assert abs(scale_frame(frame, 600, 400).pixels.astype(int) - near).max() <= 3


def test_where_more_pixels_are_shown_than_the_copy_has_they_come_from_the_frame():
    frame = with_preview(shaded(4000, 2000))
    sharp = scale_frame(frame, 3900, 1950)
    assert np.array_equal(sharp.pixels, scale_frame(shaded(4000, 2000), 3900, 1950).pixels)


def test_a_strip_without_height_is_left_as_it_is():
    frame = shaded(MANY_PIXELS + 1, 1)
    assert with_preview(frame) is frame


@pytest.mark.parametrize("size", [(1280, 720), (1900, 1000)])
def test_a_window_draws_the_copy_of_24_megapixels(size):
    frame = with_preview(shaded(6000, 4000))
    assert frame.preview is not None
    assert np.array_equal(
        scale_frame(frame, *size).pixels, scale_frame(frame.preview, *size).pixels
    )


def test_what_was_one_frame_stays_one():
    frame, pace = shaded(3000, 2000), LatencyStats(1.0, 1.0)
    comparison = Comparison(
        shaded(3000, 2000), frame, "Fused", pace, pace, 0, 99, "", True, 1, (9, 9), Precision.fp32
    )
    running = RunInfo("Fused", Precision.fp32, "CPU")
    config, timings = EngineConfig(), Timings()
    styled = StyledFrame(frame, shaded(9, 9), config, timings, (9, 9), running, comparison)
    shown = with_previews(styled)
    assert shown.comparison is not None
    assert shown.frame.preview is not None
    assert shown.frame is shown.comparison.fused
    assert shown.comparison.baseline.preview is not None
    assert shown.source is styled.source


@pytest.mark.parametrize(
    "display", [(1000, 760), (1024, 600), (300, 719), (333, 333), (1280, 719), (1280, 900)]
)
@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (641, 479)])
def test_a_screen_has_the_size_in_which_the_window_shows_the_frame(size, display):
    frame = Frame(np.zeros((size[1], size[0], 3), np.uint8))
    shown = QSize(*size).scaled(QSize(*display), Qt.AspectRatioMode.KeepAspectRatio)
    expected = (shown.width(), shown.height()) if shown.width() <= size[0] else None
    assert screen_size(frame, display) == expected


def test_without_a_display_there_is_no_screen():
    assert screen_size(Frame(np.zeros((480, 640, 3), np.uint8)), (0, 0)) is None


def test_a_large_frame_that_has_a_screen_needs_no_other_copy():
    frame = replace(shaded(3001, 2003), screen=np.zeros((400, 600, 4), np.uint8))
    assert with_preview(frame) is frame


def test_a_copy_for_display_is_not_smaller_than_the_networks_input():
    frame = shaded(1920, 1080)
    assert for_display(frame, (640, 400)).width == 640
    assert for_display(frame, (640, 400), 640).width == 640
    assert for_display(frame, (640, 400), 700).width == 960
    assert for_display(frame, (640, 400), 1280) is frame
    assert for_display(frame, (640, 400), 3000) is frame
