"""The viewport shows its pixels, splits them, compares them, and reports when it did."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from app.engine.config import EngineConfig
from app.engine.result import Comparison, LatencyStats, RunInfo, StyledFrame, Timings
from app.frame import Frame
from app.ui.viewport.comparison import (
    WAITING,
    conditions_text,
    difference_text,
    latency_text,
    ratio_text,
    summary,
)
from app.ui.viewport.frame_painter import as_image
from app.ui.viewport.scaling import scale_frame
from app.ui.viewport.viewport import Viewport
from models.precision import Precision
from tests.helpers.errors import mentions
from tests.helpers.windows import show_window
from utils.opencv import cv2
from utils.translation.texts import tr

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def plain(color: tuple[int, int, int], width: int = 64, height: int = 48) -> Frame:
    return Frame(np.full((height, width, 3), color, np.uint8))


def styled(comparison: Comparison | None = None, size: tuple[int, int] = (64, 48)) -> StyledFrame:
    """Return a red result for a green frame."""
    running = RunInfo("Fused", Precision.fp32, "CPU")
    return StyledFrame(
        plain(RED, *size), plain(GREEN, *size), EngineConfig(), Timings(), size, running, comparison
    )


def comparison(agrees: bool = True, fused_ms: float = 50.0) -> Comparison:
    return Comparison(
        plain(BLUE), plain(RED), "Fused",
        LatencyStats(100.0, 120.0), LatencyStats(fused_ms, 61.0), 0.02 if agrees else 7.5,
        84.0, "largest difference at most 0.5", agrees, 60, (48, 32), Precision.fp32,
    )  # fmt: skip


@pytest.fixture
def shown() -> list[tuple[StyledFrame, float]]:
    return []


@pytest.fixture
def viewport(qtbot, shown):
    viewport = Viewport(lambda result, paint_ms: shown.append((result, paint_ms)))
    qtbot.addWidget(viewport)
    viewport.resize(640, 480)
    show_window(viewport, qtbot)
    return viewport


def color_at(viewport: Viewport, x: int, y: int) -> QColor:
    return viewport.grab().toImage().pixelColor(x, y)


def test_pixels_reach_the_screen(viewport):
    viewport.show_styled(styled())
    assert color_at(viewport, 320, 240) == QColor(*RED)


def test_an_image_borrows_the_pixels():
    frame = Frame(np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3))
    color = as_image(frame.pixels).pixelColor(1, 2)
    assert [color.red(), color.green(), color.blue()] == frame.pixels[2, 1].tolist()


def test_what_a_window_paints_is_drawn_as_it_is_where_it_fits(viewport, monkeypatch):
    monkeypatch.setattr("app.ui.viewport.frame_painter.SCALING_BUDGET_MS", -1.0)
    result = styled()
    screen = np.zeros((480, 640, 4), np.uint8)
    screen[...] = (10, 20, 30, 255)  # B, G, R
    viewport.show_styled(replace(result, frame=replace(result.frame, screen=screen)))
    assert color_at(viewport, 320, 240) == QColor(30, 20, 10)
    other = replace(result.frame, screen=screen[:240, :320].copy())
    monkeypatch.setattr("app.ui.viewport.frame_painter.SCALING_BUDGET_MS", 10.0)
    viewport.show_styled(replace(result, frame=other))
    assert color_at(viewport, 320, 240) == QColor(*RED), "of another size"


def test_a_picture_keeps_its_shape(viewport):
    viewport.show_styled(styled(size=(100, 20)))
    image = viewport.grab().toImage()
    assert image.pixelColor(320, 240) == QColor(*RED)
    canvas = viewport.palette().dark().color()
    assert image.pixelColor(320, 240 - 80).name() == canvas.name()


def test_a_frame_of_the_right_size_is_not_copied():
    frame = plain(RED)
    assert scale_frame(frame, 64, 48) is frame
    assert scale_frame(frame, 32, 24).pixels.shape == (24, 32, 3)
    small = Frame(np.zeros((24, 32, 3), np.uint8))
    assert scale_frame(replace(frame, preview=small), 32, 24) is small


def test_each_result_is_reported_once_after_its_first_paint(viewport, shown, qtbot):
    first = styled()
    viewport.show_styled(first)
    qtbot.waitUntil(lambda: len(shown) == 1)
    viewport.repaint()
    viewport.repaint()
    [(result, paint_ms)] = shown
    assert result is first
    assert 0 < paint_ms < 1000


def test_a_repaint_scales_nothing_again(viewport, monkeypatch):
    viewport.show_styled(styled())
    viewport.grab()
    monkeypatch.setattr(
        "app.ui.viewport.frame_painter.scale_frame", lambda *_: pytest.fail("scaled again")
    )
    viewport.grab()


def test_a_paint_that_scaling_holds_up_draws_the_rest_roughly_until_the_next(
    viewport, qtbot, monkeypatch
):
    monkeypatch.setattr("app.ui.viewport.frame_painter.SCALING_BUDGET_MS", 0.0)
    scaled: list[Frame] = []

    def counted(frame: Frame, width: int, height: int) -> Frame:
        scaled.append(frame)
        return scale_frame(frame, width, height)

    monkeypatch.setattr("app.ui.viewport.frame_painter.scale_frame", counted)
    viewport.view = "split"
    result = styled()
    viewport.show_styled(result)
    qtbot.waitUntil(lambda: len(scaled) == 2)
    assert [id(frame) for frame in scaled] == [id(result.frame), id(result.source)]


def test_only_the_frames_on_screen_are_kept(viewport):
    for _ in range(5):
        viewport.show_styled(styled())
        viewport.grab()
    assert len(viewport._frames.kept) == 1


def test_the_split_has_the_original_left_and_the_styled_right(viewport):
    viewport.view = "split"
    viewport.show_styled(styled())
    assert color_at(viewport, 100, 100) == QColor(*GREEN)
    assert color_at(viewport, 540, 100) == QColor(*RED)


def test_the_divider_follows_the_mouse(viewport, qtbot):
    viewport.view = "split"
    viewport.show_styled(styled())
    viewport.grab()
    with qtbot.waitSignal(viewport.split_changed):
        QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=QPoint(320, 240))
        QTest.mouseMove(viewport, QPoint(160, 240))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(160, 240))
    assert viewport.split == pytest.approx(0.25, abs=0.01)
    assert color_at(viewport, 240, 100) == QColor(*RED)


def test_the_divider_follows_the_arrow_keys_and_stays_inside(viewport):
    viewport.view = "split"
    viewport.show_styled(styled())
    before = viewport.split
    QTest.keyClick(viewport, Qt.Key.Key_Left)
    assert viewport.split == pytest.approx(before - 0.02)
    QTest.keyClick(viewport, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert viewport.split == pytest.approx(before + 0.08)
    QTest.keyClick(viewport, Qt.Key.Key_End)
    assert viewport.split == 1.0
    QTest.keyClick(viewport, Qt.Key.Key_Right)
    assert viewport.split == 1.0


def test_arrow_keys_do_nothing_outside_the_split_view(viewport):
    viewport.show_styled(styled())
    QTest.keyClick(viewport, Qt.Key.Key_Left)
    assert viewport.split == 0.5


def test_compare_shows_both_pictures(viewport):
    viewport.view = "compare"
    viewport.show_styled(styled(comparison()))
    assert color_at(viewport, 160, 300) == QColor(*BLUE)
    assert color_at(viewport, 480, 300) == QColor(*RED)


def test_compare_waits_for_the_first_figures(viewport):
    viewport.view = "compare"
    viewport.show_styled(styled())
    assert color_at(viewport, 320, 300) == QColor(*RED)


def test_the_ratio_is_shown_whatever_it_is():
    assert ratio_text(comparison()) == "2.0 times faster"
    assert ratio_text(comparison(fused_ms=200.0)) == "2.0 times slower"


def test_the_ratio_is_withheld_while_the_pictures_differ():
    words = comparison(agrees=False)
    assert ratio_text(words) == "withheld"
    assert mentions(
        difference_text(words), "7.5 of 255", "84.0 dB", "outside the bound", "0.5 of 255"
    )


def test_identical_pictures_have_no_psnr():
    same = replace(comparison(), difference=0.0, psnr=float("inf"))
    assert difference_text(same) == "The pictures are identical."


def test_a_pace_says_that_it_is_of_the_network_alone():
    assert latency_text(LatencyStats(81.24, 95.0)) == (
        "12.3 fps alone",
        "81.2 ms a frame (median), 95.0 ms (p95)",
    )


def test_figures_wait_for_three_frames():
    early, settled = replace(comparison(), frames=2), replace(comparison(), frames=3)
    assert ratio_text(early) == WAITING
    assert not mentions(summary(early), "ms")
    assert mentions(summary(settled), "10.0 fps", "100.0 ms", "120.0 ms")
    assert ratio_text(settled) == ratio_text(comparison())


@pytest.mark.parametrize("fused_ms", [98.1, 100.0, 101.9])
def test_a_ratio_within_two_percent_is_equally_fast(fused_ms):
    assert ratio_text(comparison(fused_ms=fused_ms)) == tr("equally fast")


def test_a_rate_below_one_a_second_is_told_in_seconds():
    rate, _ = latency_text(LatencyStats(1700.0, 1900.0))
    assert rate.startswith("1.7 s")


def test_a_comparison_says_at_what_size_and_precision_it_was_made():
    assert conditions_text(comparison()) == "At 48x32, FP32"
    assert mentions(summary(comparison()), "48x32, FP32", "identical", "0.02")


def test_a_screen_reader_hears_the_comparison(viewport):
    viewport.view = "compare"
    viewport.show_styled(styled(comparison()))
    assert viewport.accessibleDescription() == summary(comparison())
    assert "2.0 times faster" in viewport.accessibleDescription()


def test_an_empty_viewport_says_what_to_do(viewport):
    viewport.show_empty("Drop a picture here", "or open one")
    assert viewport.accessibleDescription() == "Drop a picture here. or open one"
    viewport.show_waiting("Loading Candy...")
    assert viewport.accessibleDescription() == "Loading Candy..."
    viewport.show_waiting("")
    assert viewport.accessibleDescription().startswith("Drop")


def test_a_drag_is_announced_over_the_picture(viewport):
    viewport.show_styled(styled())
    before = viewport.grab().toImage()
    viewport.show_drop_hint("Drop to open", "cat.png")
    assert viewport.grab().toImage() != before
    viewport.hide_drop_hint()
    assert viewport.grab().toImage() == before


def test_an_unknown_view_is_refused(viewport):
    with pytest.raises(ValueError, match="no view 'cubist'"):
        viewport.view = "cubist"


def test_figures_are_written_at_most_four_times_a_second(viewport, monkeypatch):
    now = [10.0]
    monkeypatch.setattr("app.ui.viewport.viewport.time.perf_counter", lambda: now[0])
    viewport.view = "compare"
    viewport.show_styled(styled(comparison()))
    first = viewport.accessibleDescription()
    now[0] += 0.1
    viewport.show_styled(styled(comparison(fused_ms=40.0)))
    assert viewport.accessibleDescription() == first
    now[0] += 0.2
    viewport.show_styled(styled(comparison(fused_ms=40.0)))
    assert viewport.accessibleDescription() == summary(comparison(fused_ms=40.0))


def test_a_ratio_is_withheld_at_once(viewport):
    viewport.view = "compare"
    viewport.show_styled(styled(comparison()))
    viewport.show_styled(styled(comparison(agrees=False)))
    assert "Withheld" in viewport.accessibleDescription()


def test_a_giant_picture_is_thinned_out_before_it_is_averaged(monkeypatch):
    averaged: list[int] = []

    def resize(pixels, size, interpolation):
        if interpolation == cv2.INTER_AREA:
            averaged.append(pixels.size)
        return np.zeros((size[1], size[0], 3), np.uint8)

    monkeypatch.setattr("app.ui.viewport.scaling.cv2.resize", resize)
    scale_frame(Frame(np.zeros((6000, 6000, 3), np.uint8)), 400, 400)
    scale_frame(Frame(np.zeros((900, 900, 3), np.uint8)), 400, 400)
    assert averaged[0] <= (5 * 400) ** 2 * 3
    assert averaged[1] == 900 * 900 * 3


@pytest.mark.parametrize("width", [700, 1999, 4000, 12000])
def test_a_large_picture_is_averaged_and_nothing_moves(width):
    pixels = np.random.default_rng(0).integers(0, 100, (300, width, 3), np.uint8)
    pixels[:, width // 2 :] += 100
    small = scale_frame(Frame(pixels), 500, 30).pixels.mean(axis=(0, 2))
    assert small[:249].max() < 70
    assert small[251:].min() > 130


def test_painting_keeps_the_references_of_none(viewport):
    """PySide6 6.12.0 lost a reference per event, and the program crashed when none was left."""
    viewport.resize(32, 24)  # fast to paint
    before = sys.getrefcount(None)
    for _ in range(2000):
        viewport.repaint()
    assert sys.getrefcount(None) > before - 1000
