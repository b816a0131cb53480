"""The keyboard alone operates the window: Tab reaches every control of every page."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QButtonGroup, QCheckBox, QWidget

from app.ui.theme.keyboard_focus import KEYS
from tests.app.ui.window.surfaces import controls, daily, opened


@pytest.mark.parametrize("name", daily(0))
def test_tab_comes_to_every_control_and_back_again(streaming, name):
    surface = opened(streaming, name)
    wanted = {each for each in controls(surface) if not _is_reached_by_arrows(each)}
    assert wanted
    first = next(iter(wanted))
    first.setFocus()
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
        reached: set[QWidget] = set()
        for _ in range(200):
            # A window manager may make another window the active one meanwhile.
            focused = surface.window().focusWidget()
            assert focused is not None
            if focused is first and reached:
                break
            reached.add(focused)
            QTest.keyClick(focused, key)
        missed = [(type(each).__name__, each.accessibleName()) for each in wanted - reached]
        assert missed == [], key


def test_a_click_leaves_no_frame_and_the_keyboard_does(streaming):
    boxes = streaming.panel.findChildren(QCheckBox)
    box = next(each for each in boxes if each.isEnabled() and not each.visibleRegion().isEmpty())
    streaming.viewport.setFocus()
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=box.rect().center() / 2)
    assert box.hasFocus()
    clicked = box.grab().toImage()
    QTest.keyClick(box, Qt.Key.Key_Tab)
    after = QApplication.focusWidget()
    assert after is not None
    QTest.keyClick(after, Qt.Key.Key_Backtab)
    assert box.hasFocus()
    assert box.property(KEYS)
    assert box.grab().toImage() != clicked


def _is_reached_by_arrows(widget: QWidget) -> bool:
    if not isinstance(widget, QAbstractButton):
        return False
    group = widget.group()
    return isinstance(group, QButtonGroup) and group.exclusive() and not widget.isChecked()


def test_the_focus_is_seen(streaming, qtbot):
    """Each control looks different when it has the focus."""
    surface = opened(streaming, "messages and panel")
    for control in controls(surface):
        if control.visibleRegion().isEmpty():
            continue
        streaming.viewport.setFocus()
        QApplication.processEvents()
        before = control.grab().toImage()
        control.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        assert control.grab().toImage() != before, control.accessibleName()
