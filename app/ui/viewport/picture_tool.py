"""The base of the tools over the picture: its place on the widget, and a hint."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import draw_pill, pill_size

HALO = QColor(12, 13, 15, 190)  # around lines, so that they are legible on any picture


class PictureTool(QObject):
    """A tool that follows drags across the picture, and paints over it.

    Positions are in pixels of the widget. The widget calls `place` in each paint before `paint`.

    Signals:
        changed: The widget should repaint.
    """

    changed = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._open = False
        self._hint = ""
        self._whole, self._seen = QRectF(), QRect()  # the picture, and its visible part
        self._mirrored = False

    @property
    def open(self) -> bool:
        """Whether the tool is on."""
        return self._open

    @property
    def hint(self) -> str:
        """The sentence over the picture; "" for none."""
        return self._hint if self._open else ""

    def place(self, whole: QRectF, seen: QRect, *, mirrored: bool) -> None:
        """Set where the picture is painted: all of it, its visible part, and whether mirrored."""
        self._whole, self._seen, self._mirrored = whole, seen, mirrored

    def _paint_hint(self, painter: QPainter) -> None:
        """Paint the hint in the middle of the top."""
        if not self.hint:
            return
        widest = self._seen.width() - 2 * SPACE
        width = min(widest, pill_size(painter.fontMetrics(), self.hint).width())
        down = max(0, self._seen.top()) + 2 * SPACE
        corner = QPoint(self._seen.center().x() - width // 2, down)
        draw_pill(painter, corner, self.hint, widest=widest)

    def _share(self, at: QPointF) -> tuple[float, float]:
        """Return a place in shares of the picture, which may be mirrored."""
        x = (at.x() - self._whole.x()) / self._whole.width()
        y = (at.y() - self._whole.y()) / self._whole.height()
        return (1 - x if self._mirrored else x), y
