"""The size and position of a picture: fitted into its area, or zoomed and moved."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt

STEP = 1.25  # per notch of the wheel, and per key press
LARGEST = 32.0  # screen pixels per picture pixel
_SAME = 0.01  # a factor this close to the fitting one counts as it


@dataclass(frozen=True, slots=True)
class Zoom:
    """An immutable zoom and position; rectangles and points are in screen pixels.

    Attributes:
        factor: Screen pixels per picture pixel; None to fit the picture into its area.
        x: Picture position at the center of the area, as a fraction of the picture's width.
        y: The same, as a fraction of its height.
    """

    factor: float | None = None
    x: float = 0.5
    y: float = 0.5

    def scale(self, picture: QSize, area: QRect) -> float:
        """Return screen pixels per picture pixel, also for a fitted picture."""
        return fitting(picture, area) if self.factor is None else self.factor

    def place(self, picture: QSize, area: QRect) -> QRect:
        """Return the rectangle of the whole picture; the part inside the area is visible.

        A side shorter than the area's is centered; a longer one leaves no gap.
        """
        if self.factor is None:
            size = picture.scaled(area.size(), Qt.AspectRatioMode.KeepAspectRatio)
        else:
            width, height = picture.width() * self.factor, picture.height() * self.factor
            size = QSize(max(1, round(width)), max(1, round(height)))
        across = _begin(size.width(), self.x, area.width())
        down = _begin(size.height(), self.y, area.height())
        return QRect(area.topLeft() + QPoint(across, down), size)

    def by(self, factor: float, at: QPointF, picture: QSize, area: QRect) -> Zoom:
        """Zoom in by a factor, or out by one below 1; the pixel at `at` stays in place."""
        return self.to(self.scale(picture, area) * factor, at, picture, area)

    def to(self, factor: float, at: QPointF, picture: QSize, area: QRect) -> Zoom:
        """Zoom to a factor about a point, limited to the range, snapping to the fitting one."""
        fit = fitting(picture, area)
        factor = min(max(LARGEST, fit), max(min(1.0, fit), factor))
        if abs(factor / fit - 1) < _SAME:
            return Zoom()
        before = self.place(picture, area)
        middle = QPointF(area.x() + area.width() / 2, area.y() + area.height() / 2)
        x = (at.x() - before.x()) / before.width() - (at.x() - middle.x()) / (
            picture.width() * factor
        )
        y = (at.y() - before.y()) / before.height() - (at.y() - middle.y()) / (
            picture.height() * factor
        )
        return Zoom(factor, x, y).kept_inside(picture, area)

    def moved(self, by: QPointF, picture: QSize, area: QRect) -> Zoom:
        place = self.place(picture, area)
        x, y = self.x - by.x() / place.width(), self.y - by.y() / place.height()
        return Zoom(self.factor, x, y).kept_inside(picture, area)

    def kept_inside(self, picture: QSize, area: QRect) -> Zoom:
        """Return the view with its center shifted to leave no gap, so that moving acts at once."""
        place = self.place(picture, area)
        return Zoom(
            self.factor,
            _inside(self.x, area.width() / place.width()),
            _inside(self.y, area.height() / place.height()),
        )


def fitting(picture: QSize, area: QRect) -> float:
    return min(area.width() / picture.width(), area.height() / picture.height())


def _inside(middle: float, seen: float) -> float:
    """Return the nearest center around which the fraction `seen` stays inside the picture."""
    return 0.5 if seen >= 1 else min(1 - seen / 2, max(seen / 2, middle))


def _begin(length: int, middle: float, room: int) -> int:
    """Return the offset of a side of the picture in its area."""
    if length <= room:
        return (room - length) // 2
    return -round(min(length - room, max(0.0, middle * length - room / 2)))
