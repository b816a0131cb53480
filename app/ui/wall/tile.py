"""A tile of the wall: the picture in one style, which a click lets grow."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QKeyEvent,
    QLinearGradient,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.ui.layouts import described
from app.ui.theme.keyboard_focus import KEYS
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import FAINT, INK, draw_pill, pill_size, scaled, smooth_painter
from utils.translation.joints import enumerated
from utils.translation.texts import tr

LEAST = QSize(160, 96)  # px
_CAPTION = 7 * SPACE  # px, the height of the shade behind the caption
_CORNER = 1.5 * RADIUS
_DARK = QColor(10, 11, 13, 200)


class Tile(QAbstractButton):
    """Shows the picture in the style that `set_style` names, with its title and number key.

    Until the painting is there, the softened picture shows with a mark; a style that cannot paint
    shows the reason.
    """

    def __init__(self, number: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.number = number
        self.key = self.title = self.reason = ""
        self.painting, self._soft = QPixmap(), QPixmap()
        self.mirrored = self.current = False
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.setMinimumSize(LEAST)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return LEAST

    def set_style(self, key: str, title: str, painting: QPixmap, reason: str) -> None:
        """Show a style, or with `key` "" nothing.

        `painting` is null until it is there, and `reason` says why it never is.
        """
        self.key, self.title = key, title
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if key else Qt.FocusPolicy.NoFocus)
        tip = tr("Paint with {style} ({key})", style=title, key=self.number)
        described(self, tr("{style}, {key}", style=title, key=self.number), tip)
        self.show_painting(painting, reason)

    def show_painting(self, painting: QPixmap, reason: str = "") -> None:
        self.painting, self.reason = painting, reason
        self._describe()
        if reason:
            self.setToolTip(tr("This style cannot paint your picture: {refusal}", refusal=reason))
        self.update()

    def show_soft(self, picture: QPixmap) -> None:
        """Show the softened picture while the painting is missing."""
        self._soft = picture
        self.update()

    def show_current(self, *, on: bool) -> None:
        """Mark the style as the one that paints the picture now."""
        if on != self.current:
            self.current = on
            self._describe()
            self.update()

    def mirror(self, on: bool) -> None:
        self.mirrored = on
        self.update()

    def _describe(self) -> None:
        """Tell a screen reader what the rings and the empty picture show."""
        waiting = tr("Not painted yet") if self.painting.isNull() else ""
        current = tr("The present style") if self.current else ""
        self.setAccessibleDescription(enumerated((current, self.reason or waiting)))

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the tile with Enter or Space, and leave every other key to the wall."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.click()
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), _CORNER, _CORNER)
        painter.setClipPath(outline)
        self._paint_picture(painter)
        self._paint_caption(painter)
        painter.setClipping(False)
        if self.reason or self.painting.isNull():
            self._paint_mark(painter)
        self._paint_ring(painter)

    def _paint_picture(self, painter: QPainter) -> None:
        picture = self._soft if self.painting.isNull() else self.painting
        if picture.isNull():
            painter.fillRect(self.rect(), self.palette().base())
            return
        painter.save()
        if self.mirrored:
            painter.translate(self.width(), 0)
            painter.scale(-1, 1)
        painter.drawPixmap(self.rect(), picture)
        painter.restore()

    def _paint_caption(self, painter: QPainter) -> None:
        foot = self.rect().adjusted(0, self.height() - _CAPTION, 0, 0)
        shade = QLinearGradient(foot.topLeft(), foot.bottomLeft())
        shade.setColorAt(0, Qt.GlobalColor.transparent)
        shade.setColorAt(1, _DARK)
        painter.fillRect(foot, shade)
        line = foot.adjusted(2 * SPACE, 0, -2 * SPACE, -SPACE)
        left = (
            Qt.AlignmentFlag.AlignLeft if not self.isRightToLeft() else Qt.AlignmentFlag.AlignRight
        )
        right = (
            Qt.AlignmentFlag.AlignRight if not self.isRightToLeft() else Qt.AlignmentFlag.AlignLeft
        )
        base = self.font()
        painter.setPen(FAINT)
        painter.setFont(scaled(base, 0.95))
        number = str(self.number)
        wide = painter.fontMetrics().horizontalAdvance(number) + SPACE
        painter.drawText(line, right | Qt.AlignmentFlag.AlignBottom, number)
        painter.setPen(INK)
        painter.setFont(scaled(base, 1.08, bold=True))
        elided = painter.fontMetrics().elidedText(
            self.title, Qt.TextElideMode.ElideRight, line.width() - wide
        )
        painter.drawText(line, left | Qt.AlignmentFlag.AlignBottom, elided)
        painter.setFont(base)

    def _paint_mark(self, painter: QPainter) -> None:
        """Paint a pill in the middle: the reason, or three dots for a painting to come."""
        text, widest = self.reason or "\u2026", self.width() - 4 * SPACE
        size = pill_size(painter.fontMetrics(), text)
        place = self.rect().center()
        place.setX(place.x() - min(size.width(), widest) // 2)
        place.setY(place.y() - size.height() // 2)
        draw_pill(painter, place, text, widest=widest)

    def _paint_ring(self, painter: QPainter) -> None:
        """Paint the ring of the present style, and in it the ring of the keyboard or pointer."""
        focused = self.hasFocus() and bool(self.property(KEYS))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inset = 1.5
        if self.current:
            _draw_ring(painter, self.rect(), inset, QPen(self.palette().highlight().color(), 3))
            inset += 3
        if focused or self.underMouse():
            _draw_ring(painter, self.rect(), inset, QPen(INK, 3 if focused else 1.5))


def _draw_ring(painter: QPainter, place: QRect, inset: float, pen: QPen) -> None:
    painter.setPen(pen)
    inner = QRectF(place).adjusted(inset, inset, -inset, -inset)
    painter.drawRoundedRect(inner, _CORNER - inset / 2, _CORNER - inset / 2)
