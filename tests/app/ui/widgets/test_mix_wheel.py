"""The wheel of a mix converts places to shares, by mouse and keys, and shares to a place."""

from __future__ import annotations

import itertools
import math

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtTest import QTest

from app.ui.widgets.mix_wheel import MixWheel, WheelStyle, corners, place_of, shares_at
from tests.helpers.errors import mentions

TITLES = ("Wave", "Candy", "Night", "Scream")


def a_wheel(qtbot, count: int, shares: tuple[float, ...] = ()) -> MixWheel:
    wheel = MixWheel()
    qtbot.addWidget(wheel)
    wheel.resize(wheel.sizeHint())
    wheel.show_mix(
        [WheelStyle(title, QPixmap()) for title in TITLES[:count]],
        shares or (1 / count,) * count,
    )
    wheel.show()
    return wheel


@pytest.mark.parametrize("count", [2, 3, 4])
def test_at_a_style_it_is_alone_and_in_the_middle_all_are_equal(count):
    for n, corner in enumerate(corners(count)):
        expected = [float(n == other) for other in range(count)]
        assert shares_at(*corner, count) == pytest.approx(expected, abs=1e-9)
    assert shares_at(0, 0, count) == pytest.approx([1 / count] * count)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_shares_add_up_to_1_everywhere_and_the_handle_is_where_they_say(count):
    steps = [n / 5 for n in range(-8, 9)]
    for x, y in itertools.product(steps, steps):
        shares = shares_at(x, y, count)
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
        again = shares_at(*place_of(shares), count)
        assert again == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_place_between_the_styles_is_kept_and_one_outside_gets_the_nearest(count):
    inside = (0.3, 0.0) if count == 2 else (0.1, -0.2)
    assert place_of(shares_at(*inside, count)) == pytest.approx(inside)
    x, y = corners(count)[1]
    assert shares_at(3 * x, 3 * y, count)[1] == pytest.approx(1)


def test_a_drag_to_the_rim_chooses_a_style_alone(qtbot):
    wheel = a_wheel(qtbot, 3)
    with qtbot.waitSignal(wheel.picked) as picked:
        QTest.mousePress(wheel, Qt.MouseButton.LeftButton, pos=wheel.point(0, 0).toPoint())
    assert picked.args[0] == pytest.approx((1 / 3,) * 3, abs=0.02)
    with qtbot.waitSignal(wheel.picked) as picked:
        QTest.mouseMove(wheel, wheel.point(0, -1).toPoint())
    assert picked.args[0] == pytest.approx((1, 0, 0), abs=0.02)
    assert wheel.shares == picked.args[0]


def test_a_double_click_makes_all_equal(qtbot):
    wheel = a_wheel(qtbot, 4, (1.0, 0.0, 0.0, 0.0))
    QTest.mouseDClick(wheel, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert wheel.shares == pytest.approx((0.25,) * 4)


@pytest.mark.parametrize(
    ("count", "key", "grows"),
    [
        (2, Qt.Key.Key_Right, 1), (2, Qt.Key.Key_Left, 0), (2, Qt.Key.Key_Up, 1),
        (2, Qt.Key.Key_PageDown, 0), (3, Qt.Key.Key_Up, 0), (3, Qt.Key.Key_Right, 1),
        (3, Qt.Key.Key_Left, 2), (4, Qt.Key.Key_Up, 0), (4, Qt.Key.Key_Right, 1),
        (4, Qt.Key.Key_Down, 2), (4, Qt.Key.Key_Left, 3),
    ],
)  # fmt: skip
def test_arrow_keys_move_the_handle_toward_a_style(qtbot, count, key, grows):
    wheel = a_wheel(qtbot, count)
    before = wheel.shares
    QTest.keyClick(wheel, key)
    assert wheel.shares[grows] > before[grows]
    for _ in range(60):
        QTest.keyClick(wheel, key)
    most = max(wheel.shares)
    assert wheel.shares[grows] == pytest.approx(most)
    QTest.keyClick(wheel, Qt.Key.Key_Home)
    assert wheel.shares == pytest.approx(before)


def test_it_tells_a_screen_reader_what_is_mixed(qtbot):
    wheel = a_wheel(qtbot, 3, (0.5, 0.3, 0.2))
    assert wheel.accessibleName() == "Shares of the mix"
    assert wheel.accessibleDescription() == "Wave 50 %, Candy 30 %, Night 20 %"
    assert wheel.value() == 50
    assert mentions(wheel.toolTip(), "Wave 50 %", "Candy 30 %", "Night 20 %")
    QTest.keyClick(wheel, Qt.Key.Key_Home)
    assert wheel.value() == 34


def test_showing_a_mix_is_no_change_of_the_user(qtbot):
    wheel = a_wheel(qtbot, 2)
    with qtbot.assertNotEmitted(wheel.picked):
        wheel.show_mix([WheelStyle("A", QPixmap()), WheelStyle("B", QPixmap())], (0.9, 0.1))
    assert wheel.shares == (0.9, 0.1)


def test_styles_are_drawn_at_the_rim(qtbot):
    red = QPixmap(40, 40)
    red.fill(QColor("red"))
    wheel = a_wheel(qtbot, 2)
    wheel.show_mix([WheelStyle("A", red), WheelStyle("B", QPixmap())], (0.5, 0.5))
    image = wheel.grab().toImage()
    assert image.pixelColor(wheel.point(-1, 0).toPoint() - QPoint(0, 10)) == QColor("red")
    middle = wheel.point(0, 0).toPoint()
    assert image.pixelColor(middle) == wheel.palette().highlight().color()
    assert math.isclose(wheel.point(1, 0).y(), wheel.point(-1, 0).y())
