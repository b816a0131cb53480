"""Text over pictures, legible on any background."""

from __future__ import annotations

import re

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontInfo, QFontMetrics, QPaintDevice, QPainter, QPen

from app.ui.theme.tokens import RADIUS, SPACE

REDRAW_MS = 250  # faster changes would be illegible
LONG_WORD = 32  # characters; longer words may be broken anywhere

SHADE = QColor(12, 13, 15, 214)  # contrast to white text is at least 7:1, even over a white picture
INK = QColor("#ffffff")
FAINT = QColor("#c9ced6")


def smooth_painter(device: QPaintDevice) -> QPainter:
    """Return a painter on a widget or a picture, with antialiasing."""
    painter = QPainter(device)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return painter


def scaled(font: QFont, factor: float, *, bold: bool = False) -> QFont:
    """Return a copy of `font` at `factor` times its size, with tabular digits."""
    made = QFont(font)
    made.setPointSizeF(QFontInfo(font).pointSizeF() * factor)  # the font's size may be in pixels
    made.setBold(bold)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def breakable(text: str) -> str:
    """Insert invisible break opportunities into very long words, which would widen the window."""
    return re.sub(rf"\S{{{LONG_WORD}}}(?=\S)", "\\g<0>\u200b", text)


def draw_pill(
    painter: QPainter, corner: QPoint, text: str, *, right: bool = False, widest: int | None = None
) -> QRect:
    """Draw a label on a dark rounded rectangle, and return the rectangle.

    Args:
        corner: The top left corner, or the top right one if `right` is set.
        right: Whether `corner` is on the right.
        widest: Maximum width in pixels; a longer label is elided.
    """
    metrics = painter.fontMetrics()
    if widest is not None:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, widest - 2 * SPACE)
    place = QRect(corner, pill_size(metrics, text))
    if right:
        place.moveRight(corner.x())
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(SHADE)
    painter.drawRoundedRect(place, RADIUS, RADIUS)
    painter.setPen(INK)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
    return place


def pill_size(metrics: QFontMetrics, text: str) -> QSize:
    return QSize(metrics.horizontalAdvance(text) + 2 * SPACE, metrics.height() + SPACE)


def draw_card(
    painter: QPainter,
    area: QRect,
    title: str,
    detail: str,
    *,
    edge: QColor | None = None,
    shade: bool = False,
) -> None:
    """Draw a centered dark card with a title and a wrapped text.

    Args:
        detail: The text below; may be empty.
        edge: Color of a dashed border around `area`, for a drop target.
        shade: Whether to darken `area`.
    """
    if shade:
        painter.fillRect(area, QColor(12, 13, 15, 120))
    if edge is not None:
        painter.setPen(QPen(edge, 3, Qt.PenStyle.DashLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(area).adjusted(8, 8, -8, -8), 12, 12)
    title, detail = breakable(title), breakable(detail)
    base = painter.font()
    wrap = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
    width = min(area.width() - 8 * SPACE, 520)
    big = scaled(base, 1.4, bold=True)
    limit = QRect(0, 0, width, area.height())
    head = QFontMetrics(big).boundingRect(limit, wrap, title)
    body = QFontMetrics(base).boundingRect(limit, wrap, detail) if detail else QRect()
    gap = SPACE if detail else 0
    card = QRect(
        0,
        0,
        max(head.width(), body.width()) + 6 * SPACE,
        head.height() + gap + body.height() + 4 * SPACE,
    )
    card.moveCenter(area.center())
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(SHADE)
    painter.drawRoundedRect(card, 10, 10)
    inner = card.adjusted(3 * SPACE, 2 * SPACE, -3 * SPACE, -2 * SPACE)
    painter.setPen(INK)
    painter.setFont(big)
    painter.drawText(inner, wrap, title)
    painter.setPen(FAINT)
    painter.setFont(base)
    painter.drawText(inner.adjusted(0, head.height() + gap, 0, 0), wrap, detail)
