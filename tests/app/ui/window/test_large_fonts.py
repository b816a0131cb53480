"""With letters of twice the size, no text is cut off."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.errors import Problem
from app.settings import Settings
from app.ui.main_window import MainWindow
from tests.app.ui.window.surfaces import daily, opened
from tests.helpers.windows import show_window

BORDERS = 4  # px of a button above and below its letters


@pytest.fixture
def large(qapp, session, picture, qtbot):
    """Yield the window with a picture open and letters of 200 %."""
    before = qapp.font()
    twice = QFont(before)
    twice.setPointSizeF(2 * before.pointSizeF())
    qapp.setFont(twice)
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    show_window(window, qtbot)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    yield window
    window.theme.choice = "system"
    qapp.setFont(before)


@pytest.mark.parametrize("name", daily(1))
def test_no_label_and_no_button_is_cut_off(large, name):
    surface = opened(large, name)
    cut = [
        (type(each).__name__, each.text(), each.size().toTuple(), needed)
        for each in (*surface.findChildren(QLabel), *surface.findChildren(QAbstractButton))
        if each.isVisible() and _shows_text(each) and not _may_elide(each)
        if (needed := _missing(each))
    ]
    assert cut == []
    wide = [
        area.accessibleName()
        for area in surface.findChildren(QScrollArea)
        if area.isVisible()
        and (content := area.widget()) is not None
        and content.width() > area.viewport().width()
    ]
    assert wide == [], "they would have to be scrolled sideways"


def test_an_error_has_half_of_the_bar_at_least_and_its_buttons_below(large):
    opened(large, "messages and panel")
    large.problems.add(Problem("Could not open it", "trace", "Try again.", at_fault=True))
    QApplication.processEvents()
    bar = large.problems
    assert 2 * bar._text.width() > bar.width()
    assert bar.copy.y() > bar._text.geometry().bottom()


def _shows_text(widget: QLabel | QAbstractButton) -> bool:
    """Return whether there are letters on it, not only its icon."""
    if isinstance(widget, QToolButton) and not widget.icon().isNull():
        return widget.toolButtonStyle() is not Qt.ToolButtonStyle.ToolButtonIconOnly
    return bool(widget.text())


def _may_elide(widget: QWidget) -> bool:
    """Return whether it elides its text to fit, with the full text in its tooltip."""
    policy = widget.sizePolicy().horizontalPolicy()
    return policy in (QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Maximum)


def _missing(widget: QLabel | QAbstractButton) -> tuple[int, int] | None:
    """Return the size that it needs, if that exceeds its size."""
    if isinstance(widget, QLabel) and widget.wordWrap():
        width = widget.minimumSizeHint().width()
        height = widget.heightForWidth(widget.width())
    else:  # a button's height hint is at least the 40 px of a target, whatever its letters need
        width = widget.sizeHint().width()
        button = isinstance(widget, QAbstractButton)
        height = widget.fontMetrics().height() + (BORDERS if button else 0)
    fits = widget.width() >= width and widget.height() >= height
    return None if fits else (width, height)
