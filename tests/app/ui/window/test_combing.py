"""Drags across the picture comb its strokes; handles show where, and are undone and removed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.ui.viewport.combing import SHORTEST
from tests.app.ui.window.conftest import press
from utils.stroke_directions import MOST_HANDLES, Handle
from utils.translation.mnemonics import without_mnemonic

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
HANDLES = Handle(0.25, 0.4, 30.0), Handle(0.7, 0.6, 120.0)


def comb_by_hand(window, *handles: Handle) -> None:
    session = window.session
    session.config = replace(
        session.config, strokes_direction="hand", strokes_handles=handles, texture=0.5
    )
    paint(window)


def paint(window) -> None:
    QApplication.processEvents()
    window.viewport.grab()


def place(window) -> QRectF:
    """Return where the picture of 64x48 pixels is fitted into the viewport."""
    size = QSize(64, 48).scaled(window.viewport.size(), Qt.AspectRatioMode.KeepAspectRatio)
    left, top = (
        (window.viewport.width() - size.width()) // 2,
        (window.viewport.height() - size.height()) // 2,
    )
    return QRectF(left, top, size.width(), size.height())


def at(window, x: float, y: float) -> QPoint:
    whole = place(window)
    return QPointF(whole.x() + x * whole.width(), whole.y() + y * whole.height()).toPoint()


def drag(window, *points: QPoint, button=LEFT, keys=NONE, ends: bool = True) -> None:
    viewport = window.viewport
    QTest.mousePress(viewport, button, keys, points[0])
    for point in points[1:]:
        moved(viewport, point, button)
    if ends:
        QTest.mouseRelease(viewport, button, keys, points[-1])
    paint(window)


def moved(viewport, point: QPoint, button=Qt.MouseButton.NoButton) -> None:
    QTest.mouseMove(viewport, point)
    QApplication.processEvents()


def handles(window) -> tuple[Handle, ...]:
    return window.session.config.strokes_handles


@pytest.fixture
def combing(streaming):
    comb_by_hand(streaming)
    return streaming


def test_a_drag_sets_a_handle_halfway_and_in_its_direction(combing):
    drag(combing, at(combing, 0.2, 0.6), at(combing, 0.3, 0.5), at(combing, 0.4, 0.4))
    ((x, y, angle),) = handles(combing)
    assert (x, y) == pytest.approx((0.3, 0.5), abs=0.01)
    assert angle == pytest.approx(np.degrees(np.arctan2(0.2 * 48, 0.2 * 64)), abs=1)
    drag(combing, at(combing, 0.8, 0.2), at(combing, 0.8, 0.6))
    assert handles(combing)[1].angle == pytest.approx(90, abs=1)
    assert len(handles(combing)) == 2


def test_the_picture_follows_a_drag_before_it_ends(combing, session):
    seen = []
    session.config_changed.connect(lambda config: seen.append(config.strokes_handles))
    points = [at(combing, 0.2, 0.2), at(combing, 0.4, 0.2), at(combing, 0.4, 0.5)]
    drag(combing, *points, ends=False)
    assert [len(each) for each in seen] == [1, 1]
    assert seen[0] != seen[1]
    during = marks(combing)
    QTest.mouseRelease(combing.viewport, LEFT, NONE, points[-1])
    assert during > 1.5 * marks(combing), "the drag is drawn until it ends"


def test_a_drag_is_one_change(combing, session):
    drag(combing, at(combing, 0.2, 0.2), at(combing, 0.3, 0.2), at(combing, 0.4, 0.3))
    first = handles(combing)
    drag(combing, at(combing, 0.6, 0.7), at(combing, 0.7, 0.7), at(combing, 0.8, 0.8))
    assert combing.actions_by_key["undo"].text() == "Undo Strokes by hand"
    press(combing, "undo")
    assert handles(combing) == first
    press(combing, "undo")
    assert handles(combing) == ()
    press(combing, "redo")
    assert handles(combing) == first
    assert combing.viewport.comb.handles == first


def test_a_drag_on_a_mirrored_picture_sets_the_handle_of_what_is_under_it(combing):
    combing.viewport.mirrored = True
    paint(combing)
    drag(combing, at(combing, 0.1, 0.3), at(combing, 0.3, 0.1))
    ((x, y, angle),) = handles(combing)
    assert (x, y) == pytest.approx((0.8, 0.2), abs=0.01)
    assert angle == pytest.approx(180 - np.degrees(np.arctan2(48, 64)), abs=1)
    click(combing, at(combing, 0.2, 0.2))
    assert handles(combing) == (), "it shows where it was set"


def click(window, point: QPoint) -> None:
    QTest.mouseClick(window.viewport, LEFT, NONE, point)
    paint(window)


def test_a_drag_on_a_zoomed_picture_sets_the_handle_of_what_is_under_it(combing):
    viewport = combing.viewport
    viewport.zoom.zoom_by(2.0)
    paint(combing)
    drag(combing, at(combing, 0.6, 0.4), at(combing, 0.8, 0.4))
    ((x, y, angle),) = handles(combing)
    assert (x, y) == pytest.approx((0.6, 0.45), abs=0.01)
    assert angle == pytest.approx(0, abs=1)
    assert viewport.zoom.text


def test_a_click_removes_the_handle_that_it_hits_and_nothing_else(combing):
    comb_by_hand(combing, *HANDLES)
    click(combing, at(combing, 0.5, 0.9))
    assert handles(combing) == HANDLES
    click(combing, at(combing, 0.25, 0.4))
    assert handles(combing) == HANDLES[1:]
    press(combing, "undo")
    assert handles(combing) == HANDLES


def test_a_short_drag_is_a_click(combing):
    start = at(combing, 0.5, 0.9)
    drag(combing, start, start + QPoint(round(SHORTEST) - 2, 0))
    assert handles(combing) == ()


def test_a_drag_from_a_handle_combs_in_its_place(combing):
    comb_by_hand(combing, *HANDLES)
    drag(combing, at(combing, 0.25, 0.4), at(combing, 0.25, 0.7))
    first, second = handles(combing)
    assert first[1:] == pytest.approx((0.55, 90.0), abs=1)
    assert second == HANDLES[1]


def test_one_handle_too_many_takes_the_place_of_the_nearest(combing):
    many = tuple(Handle((n + 0.5) / MOST_HANDLES, 0.1, 0.0) for n in range(MOST_HANDLES))
    comb_by_hand(combing, *many)
    drag(combing, at(combing, 0.4, 0.8), at(combing, 0.6, 0.8))
    changed = handles(combing)
    assert len(changed) == MOST_HANDLES
    (number,) = (n for n in range(MOST_HANDLES) if changed[n] != many[n])
    assert number in (5, 6)
    assert changed[number].y == pytest.approx(0.8, abs=0.01)


def test_escape_takes_a_drag_back(combing):
    comb_by_hand(combing, *HANDLES)
    drag(combing, at(combing, 0.5, 0.8), at(combing, 0.7, 0.8), ends=False)
    assert len(handles(combing)) == 3
    QTest.keyClick(combing.viewport, Qt.Key.Key_Escape)
    assert handles(combing) == HANDLES
    moved(combing.viewport, at(combing, 0.2, 0.8), LEFT)
    QTest.mouseRelease(combing.viewport, LEFT, NONE, at(combing, 0.2, 0.8))
    assert handles(combing) == HANDLES


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace])
def test_a_key_beside_a_handle_removes_none(key, combing):
    comb_by_hand(combing, *HANDLES)
    combing.viewport.setFocus()
    moved(combing.viewport, at(combing, 0.5, 0.95))
    QTest.keyClick(combing.viewport, key)
    assert handles(combing) == HANDLES


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Escape])
def test_a_key_removes_the_handle_under_the_pointer(key, combing, qtbot):
    comb_by_hand(combing, *HANDLES)
    combing.viewport.setFocus()

    def pointed() -> bool:
        # Again, as a window manager may tell of the real pointer in between.
        moved(combing.viewport, at(combing, 0.5, 0.95))
        moved(combing.viewport, at(combing, 0.7, 0.6))
        return combing.viewport.cursor().shape() == Qt.CursorShape.PointingHandCursor

    qtbot.waitUntil(pointed)
    QTest.keyClick(combing.viewport, key)
    assert handles(combing) == HANDLES[:1]


def marks(window) -> int:
    """Return how many pixels of the picture are not of its one color."""
    image = window.viewport.grab(place(window).toAlignedRect().adjusted(2, 2, -2, -2)).toImage()
    color = image.pixelColor(2, image.height() - 2)
    return sum(
        image.pixelColor(x, y) != color
        for x in range(0, image.width(), 2)
        for y in range(0, image.height(), 2)
    )


def test_handles_are_over_the_picture_while_the_panel_offers_to_comb(combing):
    comb, viewport = combing.viewport.comb, combing.viewport
    assert "Drag across" in comb.hint
    assert comb.hint in viewport.accessibleDescription()
    assert marks(combing) > 100
    comb_by_hand(combing, HANDLES[0])
    one = marks(combing)
    comb_by_hand(combing, *HANDLES)
    assert comb.hint == ""
    assert "2 handles" in viewport.accessibleDescription()
    assert marks(combing) == pytest.approx(2 * one, abs=12)
    assert one > 30
    press(combing, "panel")
    paint(combing)
    assert not comb.open
    assert marks(combing) == 0
    press(combing, "panel")
    paint(combing)
    assert marks(combing) == pytest.approx(2 * one, abs=12)
    combing.session.config = replace(combing.session.config, strokes_direction="swirl")
    paint(combing)
    assert marks(combing) == 0
    drag(combing, at(combing, 0.4, 0.8), at(combing, 0.6, 0.8))
    assert handles(combing) == HANDLES


def test_the_hint_says_where_combing_shows_nothing(combing, session):
    session.config = replace(session.config, texture=0.0)
    assert "Texture is off" in combing.viewport.comb.hint


def test_the_divider_is_still_dragged_and_the_rest_is_combed(combing):
    viewport = combing.viewport
    press(combing, "view_split")
    paint(combing)
    drag(combing, at(combing, viewport.split, 0.5), at(combing, 0.7, 0.5))
    assert viewport.split == pytest.approx(0.7, abs=0.01)
    assert handles(combing) == ()
    drag(combing, at(combing, 0.2, 0.5), at(combing, 0.4, 0.5))
    assert viewport.split == pytest.approx(0.7, abs=0.01)
    assert len(handles(combing)) == 1
    drag(combing, at(combing, 0.4, 0.2), at(combing, 0.7, 0.2), at(combing, 0.9, 0.2))
    assert len(handles(combing)) == 2, "a drag that began on the picture crosses the divider"


@pytest.mark.parametrize(
    ("button", "keys"),
    [(LEFT, Qt.KeyboardModifier.ShiftModifier), (Qt.MouseButton.MiddleButton, NONE)],
    ids=["shift", "middle"],
)
def test_a_zoomed_picture_is_still_moved(button, keys, combing):
    middle = (Handle(0.5, 0.5, 0.0),)
    comb_by_hand(combing, *middle)
    combing.viewport.zoom.zoom_by(2.0)
    paint(combing)
    before = combing.viewport.grab().toImage()
    start = combing.viewport.rect().center()
    drag(combing, start, start + QPoint(30, 0), start + QPoint(90, 40), button=button, keys=keys)
    assert handles(combing) == middle
    assert combing.viewport.grab().toImage() != before


def test_a_double_click_still_zooms(combing):
    QTest.mouseDClick(combing.viewport, LEFT, NONE, at(combing, 0.5, 0.5))
    assert combing.viewport.zoom.zoomed
    assert handles(combing) == ()


def test_beside_the_picture_and_in_a_comparison_nothing_is_combed(combing, session):
    beside = combing.viewport.rect().topLeft() + QPoint(2, 2)
    assert not place(combing).contains(QPointF(beside))
    drag(combing, beside, at(combing, 0.5, 0.5))
    press(combing, "view_compare")
    paint(combing)
    drag(combing, at(combing, 0.3, 0.5), at(combing, 0.5, 0.5))
    assert handles(combing) == ()


def test_a_button_with_a_key_removes_all_handles(combing, qtbot):
    panel, remove = combing.panel, combing.panel.remove_handles
    assert remove.isVisible()
    assert not panel.brushwork.angle.isVisible(), "the button is in its place"
    comb_by_hand(combing, *HANDLES)
    QTest.keySequence(combing, QKeySequence("Alt+J"))
    qtbot.waitUntil(lambda: handles(combing) == ())
    press(combing, "undo")
    assert handles(combing) == HANDLES
    assert remove.accessibleName() == without_mnemonic(remove.text())
    remove.setFocus()
    combing.session.config = replace(combing.session.config, strokes_direction="swirl")
    assert not remove.isVisible()
    assert not panel.brushwork.angle.isVisible(), "swirls have none"
    assert QApplication.focusWidget() is panel.brushwork


def test_by_hand_is_chosen_in_the_panel_and_all_is_reset_at_once(streaming, session):
    streaming.panel.brushwork.setFocus()
    QTest.keyClick(streaming.panel.brushwork, Qt.Key.Key_End)
    assert session.config.strokes_direction == "hand"
    assert streaming.viewport.comb.open
    comb_by_hand(streaming, *HANDLES)
    press(streaming, "reset")
    assert (session.config.strokes_direction, handles(streaming)) == ("auto", ())
    assert not streaming.viewport.comb.open
