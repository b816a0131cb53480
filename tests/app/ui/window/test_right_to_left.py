"""In right-to-left languages the window's parts are mirrored, and the picture never is."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider, QWidget

from app.frame import SourceInfo
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.player.bar import PartSlider
from tests.app.ui.window.conftest import press
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

WIDE, NARROW = (1280, 800), (900, 600)


@pytest.fixture
def turned(qapp, session, qtbot):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    window.resize(*WIDE)
    show_window(window, qtbot)
    yield window
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@pytest.fixture
def halves(turned, session, tmp_path, qtbot):
    """Return the window with a picture that is white at the left and black at the right."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, :32] = 255
    path = tmp_path / "halves.png"
    write_pixels(path, pixels)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(path))
    qtbot.waitUntil(lambda: turned.viewport.styled is not None)
    return turned


def place(window: MainWindow, part: QWidget) -> QRect:
    return QRect(part.mapTo(window, QPoint(0, 0)), part.size())


def parts(window: MainWindow) -> dict[str, QWidget]:
    return {
        "toolbar": window.toolbar,
        "picture": window.viewport,
        "panel": window.panel,
        "gallery": window.gallery,
        "status": window.status,
    }


def shown(window: MainWindow, x: int) -> tuple[int, int, int]:
    picture = window.viewport
    at = picture.grab().toImage()
    ratio = at.devicePixelRatio()
    color = at.pixelColor(round(x * ratio), round(picture.height() / 2 * ratio))
    return color.red(), color.green(), color.blue()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_two_parts_lie_over_each_other_and_none_is_outside(turned, qtbot, size):
    turned.resize(*size)
    qtbot.waitUntil(lambda: turned.workspace.size().toTuple() == turned.size().toTuple())
    visible = {name: part for name, part in parts(turned).items() if part.isVisible()}
    assert {"toolbar", "picture", "gallery", "status"} <= set(visible)
    places = {name: place(turned, part) for name, part in visible.items()}
    for name, each in places.items():
        assert turned.rect().contains(each), name
        for other, beside in places.items():
            assert name == other or not each.intersects(beside), (name, other)
    for inner in turned.toolbar.findChildren(QWidget):
        if inner.isVisible():
            assert turned.rect().contains(place(turned, inner)), inner.accessibleName()


def test_the_panel_is_left_of_the_picture(turned):
    panel, picture = place(turned, turned.panel), place(turned, turned.viewport)
    assert panel.left() == 0
    assert panel.right() < picture.left()
    assert picture.right() == turned.width() - 1


def test_the_drawer_is_at_the_left_and_a_click_beside_it_closes_it(turned, qtbot):
    turned.resize(*NARROW)
    qtbot.waitUntil(lambda: turned.workspace.narrow)
    press(turned, "panel")
    assert turned.panel.isVisible()
    assert place(turned, turned.panel).left() == 0
    beside = QPoint(turned.width() - 20, turned.height() // 2)
    caught = turned.workspace.childAt(turned.workspace.mapFrom(turned, beside))
    QTest.mouseClick(caught, Qt.MouseButton.LeftButton)
    assert not turned.panel.isVisible()


def groove_click(slider: QSlider, share: float) -> None:
    """Drag the handle to a fraction of the groove, from the left edge."""
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
    handle = slider.style().subControlRect(control, option, part, slider)
    room = slider.width() - handle.width()
    end = QPoint(handle.width() // 2 + round(room * share), handle.center().y())
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=handle.center())
    QTest.mouseMove(slider, end)
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=end)


def test_a_slider_grows_to_the_left_under_the_pointer(turned):
    slider = turned.panel.controls["strength"]
    assert isinstance(slider, QSlider)
    groove_click(slider, 0.25)
    assert slider.value() == pytest.approx(75, abs=2)
    groove_click(slider, 0.9)
    assert slider.value() == pytest.approx(10, abs=2)


def test_the_marks_of_a_film_are_where_its_handle_is(turned, qtbot):
    bar = turned.playback_bar
    bar.show_source(SourceInfo("film", 8, 8, 25.0, 10.0))
    qtbot.waitUntil(bar.isVisible)
    slider = bar.slider
    assert isinstance(slider, PartSlider)
    slider.setValue(slider.maximum() // 5)
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
    handle = slider.style().subControlRect(control, option, part, slider)
    assert handle.center().x() > slider.width() / 2  # a film starts at the right
    before = slider.grab().toImage()
    slider.show_part(slider.value() * 3, slider.value() * 4, looped=True)
    after = slider.grab().toImage()
    middle = slider.height() // 2
    columns = range(slider.width())
    rows = [middle - 6, middle, middle + 6]
    changed = [x for x in columns if any(before.pixel(x, y) != after.pixel(x, y) for y in rows)]
    assert 0.1 < changed[0] / slider.width() < 0.3
    assert 0.3 < changed[-1] / slider.width() < 0.5


def test_the_divider_follows_the_pointer_and_the_original_stays_left_of_it(halves, qtbot):
    press(halves, "view_split")
    viewport = halves.viewport
    picture = viewport._picture
    assert picture.width() > 100
    at = QPoint(picture.left() + round(0.25 * picture.width()), picture.center().y() + 40)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert viewport.split == pytest.approx(0.25, abs=0.01)
    assert shown(halves, picture.left() + round(0.1 * picture.width())) == (255, 255, 255)
    assert shown(halves, picture.left() + round(0.4 * picture.width())) == (0, 0, 0)  # the negative
    before = viewport.split
    viewport.setFocus()
    QTest.keyClick(viewport, Qt.Key.Key_Right)
    assert viewport.split > before


def test_the_picture_is_never_mirrored(halves):
    picture = halves.viewport._picture
    left, right = (picture.left() + round(share * picture.width()) for share in (0.2, 0.8))
    assert shown(halves, left) == (0, 0, 0)  # the negative of white
    assert shown(halves, right) == (255, 255, 255)
