"""A wheel for mixing up to four styles on its rim, by a handle between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from app.options import blend_label, percentages
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import INK, scaled, smooth_painter
from app.ui.widgets.style_list import color_of, initials, paint_badge
from utils.translation.texts import tr

STEP = 0.05  # fraction of the radius per arrow key
PAGE = 0.25  # fraction of the radius per Page Up or Page Down
_MARK = 19  # px, radius of a style on the rim
_HANDLE = 8  # px, radius
_SIZE = QSize(196, 192)
_KEYS: dict[int, tuple[float, float]] = {
    Qt.Key.Key_Left: (-STEP, 0),
    Qt.Key.Key_Right: (STEP, 0),
    Qt.Key.Key_Up: (0, -STEP),
    Qt.Key.Key_Down: (0, STEP),
    Qt.Key.Key_PageUp: (0, -PAGE),
    Qt.Key.Key_PageDown: (0, PAGE),
}


@dataclass(frozen=True, slots=True)
class WheelStyle:
    """A style on the rim; if `picture` is null, its initials are shown."""

    title: str
    picture: QPixmap


def corners(count: int) -> tuple[tuple[float, float], ...]:
    """Return 2 to 4 positions on a unit circle, y down: left and right, or from the top on."""
    begin = math.pi if count == 2 else -math.pi / 2
    angles = (begin + 2 * math.pi * n / count for n in range(count))
    return tuple((math.cos(angle), math.sin(angle)) for angle in angles)


def shares_at(x: float, y: float, count: int) -> tuple[float, ...]:
    """Return the shares, adding up to 1, of 2 to 4 styles for a handle; the radius is 1, y down.

    They are the barycentric coordinates (bilinear ones for a square) of the nearest point between
    the styles.
    """
    x, y = _nearest(x, y, corners(count))
    if count == 2:
        second = (x + 1) / 2
        shares = (1 - second, second)
    elif count == 3:
        first = (1 - 2 * y) / 3
        turned = x / math.sqrt(3)
        shares = (first, (1 - first) / 2 + turned, (1 - first) / 2 - turned)
    else:
        right, up = (1 + x + y) / 2, (1 + x - y) / 2  # along the sides of the square
        shares = ((1 - right) * up, right * up, right * (1 - up), (1 - right) * (1 - up))
    kept = [min(1.0, max(0.0, share)) for share in shares]
    return tuple(share / sum(kept) for share in kept)


def place_of(shares: Sequence[float]) -> tuple[float, float]:
    """Return the handle's position for shares that add up to 1; not unique for four styles."""
    rim = corners(len(shares))
    x = sum(share * corner[0] for share, corner in zip(shares, rim, strict=True))
    y = sum(share * corner[1] for share, corner in zip(shares, rim, strict=True))
    return x, y


def _nearest(x: float, y: float, rim: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the point between the corners nearest to (x, y)."""
    count = len(rim)
    sides = [(rim[n], rim[(n + 1) % count]) for n in range(count if count > 2 else 1)]
    if count > 2 and all(
        (bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0 for (ax, ay), (bx, by) in sides
    ):
        return x, y
    places: list[tuple[float, float]] = []
    for (ax, ay), (bx, by) in sides:
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
        along = min(1.0, max(0.0, along))
        places.append((ax + along * (bx - ax), ay + along * (by - ay)))
    return min(places, key=lambda place: math.dist(place, (x, y)))


class MixWheel(QAbstractSlider):
    """A wheel for the shares of two to four styles.

    `picked(shares)` is emitted for the user's changes; the slider value is the share of the first
    style in percent. Dragging, clicking and the arrow keys move the handle; Home or a double click
    gives all styles the same share.
    """

    picked = Signal(object)  # tuple[float, ...]

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._styles: tuple[WheelStyle, ...] = ()
        self._shares: tuple[float, ...] = ()
        self.setRange(0, 100)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Shares of the mix"))
        self._describe()

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the styles, which add up to 1."""
        return self._shares

    def sizeHint(self) -> QSize:
        return _SIZE

    def show_mix(self, styles: Sequence[WheelStyle], shares: Sequence[float]) -> None:
        """Show styles and shares without emitting signals; fewer than two styles show nothing."""
        self._styles, self._shares = tuple(styles), tuple(shares)
        self._describe()
        self.update()

    # Positions on the widget

    def _center(self) -> QPointF:
        return QPointF(self.width() / 2, (self.height() - SPACE) / 2)  # the lowest share is below

    def _radius(self) -> float:
        return min(self.width(), self.height()) / 2 - _MARK - SPACE

    def point(self, x: float, y: float) -> QPointF:
        return self._center() + QPointF(x, y) * self._radius()

    # The user's changes

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the handle to the pointer; clicking a style uses it alone."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._move_to(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._move_to(event.position())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pick(0.0, 0.0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the handle with the arrow keys; Home gives all styles the same share."""
        if event.key() == Qt.Key.Key_Home:
            self._pick(0.0, 0.0)
        elif event.key() in _KEYS and self._shares:
            x, y = place_of(self._shares)
            right, down = _KEYS[event.key()]
            if len(self._shares) == 2 and not right:
                right = -down  # up means more, as for every slider
            self._pick(x + right, y + down)
        else:
            event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ignore the mouse wheel, so that the panel scrolls."""
        event.ignore()

    def _move_to(self, place: QPointF) -> None:
        moved = (place - self._center()) / self._radius()
        self._pick(moved.x(), moved.y())

    def _pick(self, x: float, y: float) -> None:
        if len(self._styles) > 1:
            self._shares = shares_at(x, y, len(self._styles))
            self._describe()
            self.update()
            self.picked.emit(self._shares)

    def _describe(self) -> None:
        parts = list(zip([each.title for each in self._styles], self._shares, strict=True))
        label = blend_label(parts) if parts else tr("Nothing is mixed")
        self.setAccessibleDescription(label)
        self.setToolTip(
            tr(
                "{label}. Drag the handle toward a style, or use the arrow keys; Home "
                "gives all the same share",
                label=label,
            )
        )
        blocked = self.blockSignals(True)
        self.setValue(percentages(self._shares)[0] if self._shares else 0)
        self.blockSignals(blocked)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        if len(self._styles) < 2:
            return
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        palette = self.palette()
        accent = palette.highlight().color()
        painter.setPen(QPen(palette.mid().color(), 1))
        painter.setBrush(palette.button())
        painter.drawEllipse(self._center(), self._radius(), self._radius())
        rim = [self.point(*corner) for corner in corners(len(self._styles))]
        area = QColor(accent)
        area.setAlpha(28)
        painter.setBrush(area)
        painter.setPen(QPen(palette.mid().color(), 1, Qt.PenStyle.DashLine))
        painter.drawPolygon(QPolygonF(rim))
        handle = self.point(*place_of(self._shares))
        for place, share in zip(rim, self._shares, strict=True):
            line = QColor(accent)
            line.setAlphaF(0.15 + 0.85 * share)
            painter.setPen(QPen(line, 1 + 4 * share))
            painter.drawLine(handle, place)
        percents = percentages(self._shares)
        for place, style, percent in zip(rim, self._styles, percents, strict=True):
            self._paint_style(painter, place, style, percent)
        painter.setPen(QPen(palette.window().color(), 2))
        painter.setBrush(accent if self.isEnabled() else palette.mid())
        painter.drawEllipse(handle, _HANDLE, _HANDLE)
        if self.hasFocus():
            painter.setPen(QPen(palette.text().color(), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(handle, _HANDLE + 2, _HANDLE + 2)

    def _paint_style(
        self, painter: QPainter, place: QPointF, style: WheelStyle, percent: int
    ) -> None:
        palette, picture = self.palette(), style.picture
        painter.setPen(QPen(palette.window().color(), 2))
        if picture.isNull():
            painter.setBrush(color_of(style.title))
        else:
            scale = 2 * _MARK / min(picture.width(), picture.height())
            brush = QBrush(picture)
            move = QTransform.fromTranslate(place.x(), place.y()).scale(scale, scale)
            brush.setTransform(move.translate(-picture.width() / 2, -picture.height() / 2))
            painter.setBrush(brush)
        painter.drawEllipse(place, _MARK, _MARK)
        if picture.isNull():
            painter.setPen(INK)
            painter.setFont(scaled(self.font(), 0.9, bold=True))
            around = QRectF(place.x() - _MARK, place.y() - _MARK, 2 * _MARK, 2 * _MARK)
            painter.drawText(around, Qt.AlignmentFlag.AlignCenter, initials(style.title))
        painter.setFont(scaled(self.font(), 0.85))
        text = f"{percent} %"
        width = painter.fontMetrics().horizontalAdvance(text) + SPACE
        height = painter.fontMetrics().height()
        pill = QRect(0, 0, width, height)
        pill.moveCenter(QPointF(place.x(), place.y() + _MARK).toPoint())
        pill.moveLeft(min(max(pill.left(), 0), self.width() - width))
        pill.moveBottom(min(pill.bottom(), self.height() - 1))
        paint_badge(painter, pill, text)
