"""A slider for the position in a film, with the looped part."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider, QWidget

_MARK = 3  # px, width of the marks
_TALL = 16  # px, height of the marks
_HANDLE = 14  # px, as in the style sheet


class PartSlider(QSlider):
    """Shows the marks A and B and the range between them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._part: tuple[int | None, int | None] = (None, None)
        self._looped = False

    def show_part(self, start: int | None, end: int | None, *, looped: bool) -> None:
        """Show the marks A and B, or None for no mark, and whether their range is looped."""
        self._part, self._looped = (start, end), looped
        self.update()

    @property
    def part(self) -> tuple[int | None, int | None]:
        return self._part

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        start, end = self._part
        if start is None and end is None:
            return
        painter = QPainter(self)
        ink = self.palette().color(QPalette.ColorRole.WindowText)
        if not self._looped:
            ink.setAlpha(130)
        middle = self.rect().center().y()
        if start is not None and end is not None:
            shade = QColor(ink)
            shade.setAlpha(70 if self._looped else 35)
            left, right = self._x(start), self._x(end)
            painter.fillRect(QRect(left, middle - _TALL // 4, right - left, _TALL // 2), shade)
        for value in (start, end):
            if value is not None:
                place = QRect(self._x(value) - _MARK // 2, middle - _TALL // 2, _MARK, _TALL)
                painter.fillRect(place, ink)

    def _x(self, value: int) -> int:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        span = self.width() - _HANDLE
        return _HANDLE // 2 + QStyle.sliderPositionFromValue(
            self.minimum(), self.maximum(), value, span, option.upsideDown
        )
