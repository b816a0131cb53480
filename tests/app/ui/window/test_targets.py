"""Click targets are large enough, and all are reachable in a window of 900 x 600."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QDialog,
    QListWidget,
    QScrollArea,
    QTextEdit,
    QWidget,
)

from app.ui.main_window import MainWindow
from app.ui.widgets.dialogs import ModelessDialog
from tests.app.ui.window.surfaces import SURFACES, controls, daily, opened

LARGE, DENSE, INLINE = 40, 28, 24  # px, at the default font size

# In a line of text or over the picture: 24 px (WCAG 2.2, 2.5.8).
INLINE_NAMES = {"What is running", "Frames a second"}


@pytest.mark.parametrize("name", daily(0))
def test_what_is_clicked_is_40_pixels_high(streaming, name):
    streaming.resize(1280, 800)
    surface = opened(streaming, name)
    small = [
        (each.accessibleName(), each.width(), each.height())
        for each in controls(surface)
        if not isinstance(each, (QAbstractItemView, QTextEdit))
        and min(each.width(), each.height()) < _least(streaming, each)
    ]
    assert small == []


def _least(window: MainWindow, control: QWidget) -> int:
    """Return the least height: the panel has rows of 32 px, so that all fits 800 px."""
    if control.accessibleName() in INLINE_NAMES:
        return INLINE
    return DENSE if window.panel.isAncestorOf(control) else LARGE


def test_rows_that_are_ticked_are_40_pixels_high(streaming):
    styles = opened(streaming, "slideshow").findChild(QListWidget, "ticked")
    assert styles is not None
    heights = [styles.visualItemRect(styles.item(row)).height() for row in range(styles.count())]
    assert heights
    assert min(heights) >= LARGE


def test_every_dialog_is_among_the_surfaces(streaming):
    seen = {type(opened(streaming, name).window()) for name in SURFACES}
    made = {*QDialog.__subclasses__(), *ModelessDialog.__subclasses__()} - {ModelessDialog}
    own = {dialog for dialog in made if dialog.__module__.startswith("app.ui.")}
    assert seen >= own
    assert len(own) == 11


@pytest.mark.parametrize("name", daily(1))
def test_everything_is_reached_at_900_by_600(streaming, name, qtbot):
    streaming.resize(900, 600)
    surface = opened(streaming, name)
    if surface.isWindow():
        surface.resize(900, 600)
    qtbot.wait(50)
    assert surface.window().width() <= 900
    assert surface.window().height() <= 600
    outside = [each.accessibleName() for each in controls(surface) if not _is_reached(each)]
    assert outside == []


def _is_reached(widget: QWidget) -> bool:
    """Return whether all of it is visible once its scroll areas are scrolled to it."""
    area = widget.parentWidget()
    while area is not None and not area.isWindow():
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(widget, 0, 0)
        area = area.parentWidget()
    place = widget.rect().translated(widget.mapTo(widget.window(), QPoint()))
    area = widget.parentWidget()
    while area is not None:
        if isinstance(area, QAbstractScrollArea) or area.isWindow():
            view = area.viewport() if isinstance(area, QAbstractScrollArea) else area
            seen = view.rect().translated(view.mapTo(view.window(), QPoint()))
            if not seen.contains(place):
                return False
        if area.isWindow():
            break
        area = area.parentWidget()
    return True
