"""Fills rows and columns with widgets, and describes widgets to tooltips and screen readers."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget

Box = TypeVar("Box", bound=QBoxLayout)
Widget = TypeVar("Widget", bound=QWidget)
Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | int | None


def fill(
    box: Box,
    *parts: Part,
    margins: tuple[int, int, int, int] | None = None,
    spacing: int | None = None,
) -> Box:
    """Add parts to a row or a column, and return it.

    Args:
        parts: A widget or a layout, or a pair of one and its stretch; a number is a space in
            pixels, and None takes the space that is left.
        margins: Left, top, right and bottom, in pixels; None for the margins of the style.
        spacing: Between parts, in pixels; None for the spacing of the style.
    """
    if margins is not None:
        box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if item is None:
            box.addStretch(1)
        elif isinstance(item, int):
            box.addSpacing(item)
        elif isinstance(item, QLayout):
            box.addLayout(item, stretch)
        else:
            box.addWidget(item, stretch)
    return box


def described(widget: Widget, name: str, tip: str) -> Widget:
    """Give a widget its name for screen readers and its tooltip, and return it."""
    widget.setAccessibleName(name)
    widget.setToolTip(tip)
    return widget
