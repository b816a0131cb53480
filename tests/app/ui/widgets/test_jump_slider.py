"""A click beside the handle of a slider moves it there; a drag goes on from that place."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionSlider

from app.ui.player.bar import PartSlider
from app.ui.widgets.form_layout import NoWheelSlider
from app.ui.widgets.jump_slider import JumpSlider

LEFT = Qt.MouseButton.LeftButton
SPAN = 400  # px


def handle_x(slider: JumpSlider) -> int:
    """Return the middle of the handle."""
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    parts = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
    return slider.style().subControlRect(parts[0], option, parts[1], slider).center().x()


@pytest.fixture(params=[NoWheelSlider, PartSlider])
def slider(request, theme, qtbot) -> JumpSlider:
    made = PartSlider() if request.param is PartSlider else NoWheelSlider("Strength", "How much")
    made.setRange(0, 1000)
    qtbot.addWidget(made)
    theme.add_widget(made)
    made.resize(SPAN, 40)
    made.show()
    return made


@pytest.mark.parametrize("x", [40, 150, 390])
def test_the_handle_comes_to_a_click(slider, x):
    QTest.mouseClick(slider, LEFT, pos=QPoint(x, 20))
    assert handle_x(slider) == pytest.approx(x, abs=2)


def test_a_press_on_the_handle_does_not_move_it(slider):
    slider.setValue(500)
    QTest.mouseClick(slider, LEFT, pos=QPoint(handle_x(slider) + 4, 20))
    assert slider.value() == 500


def test_a_drag_begins_where_the_press_was(slider):
    QTest.mousePress(slider, LEFT, pos=QPoint(100, 20))
    QTest.mouseMove(slider, QPoint(250, 20))
    QTest.mouseRelease(slider, LEFT, pos=QPoint(250, 20))
    assert handle_x(slider) == pytest.approx(250, abs=3)


def test_from_right_to_left_it_comes_too(slider):
    slider.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    QTest.mouseClick(slider, LEFT, pos=QPoint(60, 20))
    assert handle_x(slider) == pytest.approx(60, abs=2)
    assert slider.value() > 500
