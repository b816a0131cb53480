"""How large a picture is shown, and which part of it: fitted into its area, or zoomed and moved."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt

STEP = 1.25  # of a notch of the wheel, and of a key
LARGEST = 32.0  # pixels of the screen per pixel of the picture
_SAME = 0.01  # factors closer to the fitting one than this are it


@dataclass(frozen=True, slots=True)
class Zoom:
    """A value; rectangles and places are in pixels of the screen.

    Attributes:
        factor: Pixels of the screen per pixel of the picture; None to fit it into its area.
        x: What is in the middle of the area, as a share of the picture's width.
        y: The same of its height.
    """

    factor: float | None = None
    x: float = 0.5
    y: float = 0.5

    def scale(self, picture: QSize, area: QRect) -> float:
        """Pixels of the screen per pixel of the picture, also where it is fitted."""
        return fitting(picture, area) if self.factor is None else self.factor

    def place(self, picture: QSize, area: QRect) -> QRect:
        """Where the whole picture lies, of which the part inside the area is seen.

        A side that is shorter than the area's is centered; a longer one leaves no gap.
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
        """Zoom in by a factor, or out by one below 1, about a place which keeps its pixel."""
        return self.to(self.scale(picture, area) * factor, at, picture, area)

    def to(self, factor: float, at: QPointF, picture: QSize, area: QRect) -> Zoom:
        """Zoom to a factor about a place; to the least one or the fitting one where it is near."""
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
        """Move the picture with the pointer."""
        place = self.place(picture, area)
        x, y = self.x - by.x() / place.width(), self.y - by.y() / place.height()
        return Zoom(self.factor, x, y).kept_inside(picture, area)

    def kept_inside(self, picture: QSize, area: QRect) -> Zoom:
        """The same view with a middle that leaves no gap, from which it is moved at once."""
        place = self.place(picture, area)
        return Zoom(
            self.factor,
            _inside(self.x, area.width() / place.width()),
            _inside(self.y, area.height() / place.height()),
        )


def fitting(picture: QSize, area: QRect) -> float:
    """The factor at which a picture fits into an area."""
    return min(area.width() / picture.width(), area.height() / picture.height())


def _inside(middle: float, seen: float) -> float:
    """A middle, of which the share `seen` around it stays inside."""
    return 0.5 if seen >= 1 else min(1 - seen / 2, max(seen / 2, middle))


def _begin(length: int, middle: float, room: int) -> int:
    """Where a side of the picture begins in its area."""
    if length <= room:
        return (room - length) // 2
    return -round(min(length - room, max(0.0, middle * length - room / 2)))
