"""Paints the divider of the split view, with a label on each side."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter, QPen

from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import INK, SHADE, draw_pill
from utils.translation.texts import tr


def paint_divider(painter: QPainter, place: QRect, x: int, title: str) -> None:
    """Paint a line with a knob in the visible `place`, and labels on both sides."""
    down = place.bottom() - SPACE - painter.fontMetrics().height() - SPACE
    half = place.width() // 2 - 2 * SPACE
    draw_pill(painter, QPoint(place.left() + SPACE, down), tr("Original"), widest=half)
    corner = QPoint(place.right() - SPACE, down)
    draw_pill(painter, corner, title, right=True, widest=half)
    painter.setPen(QPen(SHADE, 4))
    painter.drawLine(x, place.top(), x, place.bottom())
    painter.setPen(QPen(INK, 2))
    painter.drawLine(x, place.top(), x, place.bottom())
    knob = QPoint(x, place.center().y())
    painter.setBrush(SHADE)
    painter.drawEllipse(knob, 14, 14)
    for side in (-1, 1):  # two arrowheads
        tip = knob + QPoint(side * 8, 0)
        painter.drawLine(tip, knob + QPoint(side * 4, -4))
        painter.drawLine(tip, knob + QPoint(side * 4, 4))
