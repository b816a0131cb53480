"""Zoom and pan keep the pixel under the pointer, and create nothing larger than the screen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QImage, QNativeGestureEvent, QPointingDevice, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.frame import Frame
from app.ui.viewport.scaling import scale_frame, scale_part
from app.ui.viewport.viewport import Viewport
from app.ui.viewport.zoom import LARGEST, STEP, Zoom, fitting
from tests.app.ui.widgets.test_viewport import comparison, styled
from tests.helpers.windows import show_window

PICTURE, AREA = QSize(4000, 3000), QRect(0, 0, 800, 600)
NOISE = np.random.default_rng(7).integers(0, 256, (300, 400, 3), np.uint8)


def part_of(frame: Frame, size: QSize, part: QRect) -> np.ndarray:
    """Return the colors of a scaled part, converted from the screen's format."""
    return scale_part(frame, size, part)[..., 2::-1]


def pixel_at(zoom: Zoom, at: QPointF, area: QRect = AREA) -> tuple[float, float]:
    place = zoom.place(PICTURE, area)
    scale = PICTURE.width() / place.width()
    return (at.x() - place.x()) * scale, (at.y() - place.y()) * scale


@pytest.fixture
def viewport(qtbot):
    viewport = Viewport(lambda *_: None)
    qtbot.addWidget(viewport)
    viewport.resize(640, 480)
    show_window(viewport, qtbot)
    return viewport


def show(viewport: Viewport, pixels: np.ndarray, source: np.ndarray | None = None) -> None:
    frame, other = Frame(pixels), Frame(pixels if source is None else source)
    viewport.show_styled(replace(styled(), frame=frame, source=other))
    viewport.grab()


def turn(viewport: Viewport, notches: float, at: QPoint) -> None:
    place = QPointF(at)
    QApplication.sendEvent(
        viewport,
        QWheelEvent(
            place, viewport.mapToGlobal(place), QPoint(), QPoint(0, round(120 * notches)),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        ),
    )  # fmt: skip


def picture_on(viewport: Viewport) -> np.ndarray:
    image = viewport.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8)
    rows = flat.reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


@pytest.mark.parametrize("factor", [0.3, 0.5, 1.0, 2.7, 8.0])
def test_the_pixel_at_the_pointer_stays_there(factor):
    at = QPointF(310.0, 220.0)
    before = pixel_at(Zoom(), at)
    zoom = Zoom().to(factor, at, PICTURE, AREA)
    assert pixel_at(zoom, at) == pytest.approx(before, abs=1.5 / factor)
    again = zoom.by(1.5, at, PICTURE, AREA)
    assert pixel_at(again, at) == pytest.approx(before, abs=1.5 / factor)


def test_the_picture_leaves_no_gap_however_far_it_is_dragged():
    zoom = Zoom().to(1.0, QPointF(400, 300), PICTURE, AREA)
    for by in (QPointF(1e5, 1e5), QPointF(-1e6, -1e6)):
        zoom = zoom.moved(by, PICTURE, AREA)
        assert zoom.place(PICTURE, AREA).contains(AREA)
    assert zoom.place(PICTURE, AREA).bottomRight() == AREA.bottomRight()
    assert zoom.moved(QPointF(10, 0), PICTURE, AREA).place(PICTURE, AREA).right() == 809


def test_zoom_ends_at_the_whole_picture_and_at_large_pixels():
    at = QPointF(100, 100)
    assert Zoom().by(1 / STEP, at, PICTURE, AREA) == Zoom()
    assert Zoom().to(1e9, at, PICTURE, AREA).factor == LARGEST
    small = QSize(64, 48)
    assert Zoom().to(0.1, at, small, AREA).factor == 1.0
    assert fitting(small, AREA) == 12.5


def test_at_its_actual_size_a_pixel_of_the_picture_is_one_of_the_screen():
    whole = part_of(Frame(NOISE), QSize(400, 300), QRect(30, 20, 100, 80))
    assert np.array_equal(whole, NOISE[20:100, 30:130])


def test_pixels_are_squares_from_200_percent_and_smooth_below():
    crisp = part_of(Frame(NOISE), QSize(1600, 1200), QRect(40, 80, 400, 400))
    assert np.array_equal(crisp, NOISE[20:120, 10:110].repeat(4, 0).repeat(4, 1))
    smooth = part_of(Frame(NOISE), QSize(600, 450), QRect(0, 0, 600, 450))
    assert len(np.unique(smooth.reshape(-1, 3), axis=0)) > 2 * 400 * 300 // 3


def test_a_part_is_what_the_whole_has_there():
    pixels = np.random.default_rng(1).integers(0, 256, (1500, 2000, 3), np.uint8)
    frame, size = Frame(pixels), QSize(700, 525)
    whole = part_of(frame, size, QRect(QPoint(), size))
    for x, y in ((0, 0), (101, 37), (399, 324)):
        part = part_of(frame, size, QRect(x, y, 301, 201))
        assert np.abs(part.astype(int) - whole[y : y + 201, x : x + 301]).max() <= 1
    even = part_of(frame, QSize(500, 375), QRect(0, 0, 500, 375))
    assert np.abs(even.astype(int) - scale_frame(frame, 500, 375).pixels).max() <= 1


def test_of_a_picture_of_24_megapixels_no_copy_larger_than_the_screen_is_kept(viewport):
    show(viewport, np.zeros((4000, 6000, 3), np.uint8))
    for _ in range(12):
        viewport.zoom.zoom_in()
        viewport.grab()
        for pixels in viewport._frames.kept:
            assert pixels.shape[0] <= 480
            assert pixels.shape[1] <= 640
    assert viewport.zoom.text == "155 %"


def test_the_wheel_zooms_at_the_pointer_and_back_to_the_whole(viewport):
    show(viewport, np.kron(NOISE, np.ones((10, 10, 1), np.uint8)))
    whole = picture_on(viewport)
    at = QPoint(200, 150)
    turn(viewport, 4, at)
    assert viewport.zoom.text == f"{16 * STEP**4:.0f} %"
    assert not np.array_equal(picture_on(viewport), whole)
    turn(viewport, -4, at)
    assert viewport.zoom.text == ""
    assert np.array_equal(picture_on(viewport), whole)


def test_a_pinch_zooms_too(viewport):
    show(viewport, NOISE)
    device, place = QPointingDevice.primaryPointingDevice(), QPointF(100, 100)
    event = QNativeGestureEvent(
        Qt.NativeGestureType.ZoomNativeGesture, device, 2, place, place,
        viewport.mapToGlobal(place), 0.5, QPointF(),
    )  # fmt: skip
    QApplication.sendEvent(viewport, event)
    assert viewport.zoom.text == "240 %"  # 400 px fill 640


def test_a_double_click_goes_to_the_actual_size_and_back(viewport):
    show(viewport, np.zeros((1200, 1600, 3), np.uint8))
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(100, 100))
    assert viewport.zoom.text == "100 %"
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(100, 100))
    assert viewport.zoom.text == ""


def drag(viewport: Viewport, begin: QPoint, end: QPoint) -> None:
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=begin)
    QTest.mouseMove(viewport, end)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)


def test_a_drag_moves_the_picture_by_as_much_as_the_pointer(viewport):
    show(viewport, np.kron(NOISE, np.ones((8, 8, 1), np.uint8)))
    viewport.zoom.actual_size()
    before = picture_on(viewport)
    drag(viewport, QPoint(300, 200), QPoint(340, 230))
    moved = picture_on(viewport)
    assert np.array_equal(moved[30:400, 40:], before[:370, :-40])
    assert viewport.cursor().shape() == Qt.CursorShape.OpenHandCursor


def test_alt_and_an_arrow_key_move_a_zoomed_picture(viewport):
    show(viewport, np.kron(NOISE, np.ones((8, 8, 1), np.uint8)))
    alt = Qt.KeyboardModifier.AltModifier
    viewport.zoom.actual_size()
    before = picture_on(viewport)
    QTest.keyClick(viewport, Qt.Key.Key_Right, alt)
    assert np.array_equal(picture_on(viewport)[:400, :-64], before[:400, 64:])
    assert "Shown at 100 %" in viewport.accessibleDescription()


def test_a_zoomed_picture_is_dragged_and_the_divider_too(viewport):
    viewport.view = "split"
    show(viewport, np.zeros((1200, 1600, 3), np.uint8))
    viewport.zoom.actual_size()
    viewport.grab()
    drag(viewport, QPoint(100, 100), QPoint(150, 100))
    assert viewport.split == 0.5
    drag(viewport, QPoint(320, 100), QPoint(160, 100))
    assert viewport.split == pytest.approx(0.25, abs=0.01)


def test_both_sides_of_a_divider_show_the_same_place(viewport):
    pixels = np.kron(NOISE, np.ones((8, 8, 1), np.uint8))
    viewport.view = "split"
    show(viewport, pixels, 255 - pixels)
    turn(viewport, 6, QPoint(400, 100))
    viewport.split = 0.0
    right = picture_on(viewport)
    viewport.split = 1.0
    left = picture_on(viewport)
    inner = (slice(100, 200), slice(30, 600))
    assert np.abs(left[inner] + right[inner].astype(int) - 255).max() <= 1


def test_the_comparison_zooms_both_sides_alike_about_the_pointer(viewport):
    pixels = np.kron(NOISE, np.ones((8, 8, 1), np.uint8))
    both = replace(comparison(), baseline=Frame(255 - pixels), fused=Frame(pixels.copy()))
    viewport.view = "compare"
    result = replace(styled(both), frame=both.fused)
    viewport.show_styled(result)
    viewport.grab()
    turn(viewport, 5, QPoint(480, 120))
    seen = picture_on(viewport)
    (left, right) = viewport.zoom._areas
    assert left.size() == right.size()
    # The names of the pictures are above these rows, and the zoom is below them.
    inside = [seen[a.y() + 60 : a.y() + 140, a.x() : a.x() + a.width()] for a in (left, right)]
    assert np.abs(inside[0] + inside[1].astype(int) - 255).max() <= 1


def test_a_mirrored_picture_zooms_where_the_pointer_is(viewport):
    pixels = np.zeros((1200, 1600, 3), np.uint8)
    pixels[:, :800] = (255, 0, 0)
    viewport.mirrored = True
    show(viewport, pixels)
    turn(viewport, 8, QPoint(500, 240))
    assert tuple(picture_on(viewport)[240, 500]) == (255, 0, 0)
    turn(viewport, -8, QPoint(0, 0))
    turn(viewport, 8, QPoint(100, 240))
    assert tuple(picture_on(viewport)[240, 100]) == (0, 0, 0)


def test_a_picture_of_the_same_size_keeps_the_zoom_and_another_does_not(viewport):
    show(viewport, np.zeros((1200, 1600, 3), np.uint8))
    viewport.zoom.actual_size()
    show(viewport, np.ones((1200, 1600, 3), np.uint8))
    assert viewport.zoom.text == "100 %"
    show(viewport, np.zeros((600, 800, 3), np.uint8))
    assert viewport.zoom.text == ""


def test_a_zoomed_stream_is_wanted_in_the_size_it_is_shown(viewport, qtbot):
    show(viewport, np.zeros((1200, 1600, 3), np.uint8))
    with qtbot.waitSignal(viewport.resized) as blocker:
        viewport.zoom.actual_size()
    assert blocker.args == [1600, 1200]
    with qtbot.waitSignal(viewport.resized) as blocker:
        viewport.zoom.fit()
    assert blocker.args == [640, 480]


def test_an_empty_viewport_does_not_zoom(viewport):
    turn(viewport, 3, QPoint(10, 10))
    viewport.zoom.zoom_in()
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton)
    assert viewport.zoom.text == ""
