"""The keyboard alone operates the window: Tab reaches every control of every page."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QButtonGroup,
    QCheckBox,
    QLabel,
    QStyle,
    QWidget,
)

from app.ui.theme.keyboard_focus import KEYS
from tests.app.ui.window.surfaces import controls, daily, opened
from utils.translation.mnemonics import without_mnemonic


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


@pytest.mark.parametrize("name", daily(1))
def test_letters_are_underlined_only_while_alt_is_held(streaming, name):
    surface = opened(streaming, name)
    lettered = [
        each
        for kind in (QLabel, QAbstractButton)
        for each in surface.findChildren(kind)
        if not isinstance(each, QLabel) or each.buddy() is not None
        if not each.visibleRegion().isEmpty() and without_mnemonic(each.text()) != each.text()
    ]
    pictures = [each.grab().toImage() for each in lettered]
    underline = QStyle.StyleHint.SH_UnderlineShortcut
    shown = [each.text() for each in lettered if each.style().styleHint(underline, None, each)]
    assert shown == []
    key = Qt.Key.Key_Alt
    QTest.keyPress(surface.window().windowHandle(), key)
    changed = [each.grab().toImage() != was for each, was in zip(lettered, pictures, strict=True)]
    QTest.keyRelease(surface.window().windowHandle(), key)
    assert all(changed)
    assert [each.grab().toImage() for each in lettered] == pictures


def test_letters_are_no_longer_underlined_after_alt_and_tab(streaming):
    box = next(each for each in streaming.panel.findChildren(QCheckBox) if "&" in each.text())
    before = box.grab().toImage()
    QTest.keyPress(streaming.windowHandle(), Qt.Key.Key_Alt)
    assert box.grab().toImage() != before
    QApplication.sendEvent(streaming.windowHandle(), QFocusEvent(QEvent.Type.FocusOut))
    assert box.grab().toImage() == before


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
