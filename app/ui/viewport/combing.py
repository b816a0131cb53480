"""Handles over the picture: places where the user combs the strokes by hand."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme.tokens import DARK
from app.ui.viewport.picture_tool import HALO, PictureTool
from app.ui.viewport.text_painting import INK
from utils.stroke_directions import (
    HALF_TURN,
    MOST_HANDLES,
    Handle,
    Handles,
    nearest_handle,
    rounded_handle,
)

SHORTEST = 8.0  # pixels: a drag that is shorter is a click
HIT = 10.0  # pixels from a handle at which a click hits it
_HALF = 18.0  # pixels: half of a handle's length
_ACCENT = QColor(DARK.accent)  # on the dark halo in both themes
_CANCEL = (Qt.Key.Key_Escape,)
_REMOVE = (Qt.Key.Key_Escape, Qt.Key.Key_Delete, Qt.Key.Key_Backspace)


class CombControl(PictureTool):
    """Paints handles over a picture, and changes them by drags, clicks and keys.

    Signals:
        pressed: A drag or click begins; its changes end with `released`.
        released: The drag or click ended.
        combed: The handles that the user has made, a tuple.
    """

    pressed = Signal()
    released = Signal()
    combed = Signal(object)

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._handles: Handles = ()
        self._hovered: int | None = None
        self._start: QPointF | None = None  # of a press
        self._end: QPointF | None = None  # of a press that became a drag
        self._grabbed: int | None = None  # the handle that was pressed
        self._before: Handles = ()  # at the press
        self._canceled = False  # the drag, whose button is still down

    # State

    @property
    def handles(self) -> Handles:
        return self._handles

    @property
    def dragging(self) -> bool:
        return self._start is not None

    @property
    def hint(self) -> str:
        """The sentence over the picture; "" for none."""
        return "" if self._handles else super().hint

    def show_handles(self, handles: Handles, *, on: bool, hint: str = "") -> None:
        """Show the handles if `on`, or `hint` if there are none; else neither."""
        if (handles, on, hint) == (self._handles, self._open, self._hint):
            return
        self._handles, self._hint = handles, hint
        if on != self._open:
            self._open = on
            if not on and self.dragging:
                self._finish()
                self._canceled = True
        if self._hovered is not None and (not on or self._hovered >= len(handles)):
            self._hovered = None
        self.changed.emit()

    # Painting

    def paint(self, painter: QPainter) -> None:
        """Paint the handles and the drag, or the hint."""
        if not self._open:
            return
        painter.save()
        painter.setClipRect(self._seen, Qt.ClipOperation.IntersectClip)
        if self._start is not None and self._end is not None:
            _draw_stroke(painter, self._start, self._end, INK, thin=True)
        for number, handle in enumerate(self._handles):
            middle, along = self._on_widget(handle)
            lit = number == self._hovered and self._start is None
            _draw_stroke(painter, middle - along, middle + along, INK if lit else _ACCENT)
        painter.restore()
        if self._start is None:
            self._paint_hint(painter)

    def cursor(self, at: QPointF) -> Qt.CursorShape | None:
        """Return the pointer's shape at a place; None if combing does not set it."""
        if self.dragging:
            return Qt.CursorShape.CrossCursor
        if not (self._open and self._seen.contains(at.toPoint())):
            return None
        hit = self._hit(at) is not None
        return Qt.CursorShape.PointingHandCursor if hit else Qt.CursorShape.CrossCursor

    # Events of the widget; each method returns whether it used the event

    def press(self, event: QMouseEvent) -> bool:
        """Begin a drag on the picture; with Shift, presses are left to the zoom."""
        at = event.position()
        shifted = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        left = event.button() == Qt.MouseButton.LeftButton
        if self._start is not None or self._canceled:
            return True  # another button during a drag
        if not (self._open and left and self._seen.contains(at.toPoint())) or shifted:
            return False
        self._start, self._grabbed, self._before = at, self._hit(at), self._handles
        self.pressed.emit()
        return True

    def move(self, event: QMouseEvent) -> bool:
        """Turn the handle of the drag, or mark the handle under the pointer."""
        at = event.position()
        if self._start is None:
            free = self._open and event.buttons() == Qt.MouseButton.NoButton
            self._hover(self._hit(at) if free else None)
            return self._canceled
        end = self._inside(at)
        if _length(end - self._start) >= SHORTEST and not self._whole.isEmpty():
            self._end = end
            self._use(self._with(self._handle_of(self._start, end)))
        return True

    def release(self, event: QMouseEvent) -> bool:
        """End a drag; a click removes the handle that it hits."""
        left = event.button() == Qt.MouseButton.LeftButton
        if not left or not (self._canceled or self.dragging):
            return False
        if self._start is not None and self._end is None and self._grabbed is not None:
            self._remove(self._grabbed)
        if self._start is not None:
            self._finish()
        self._canceled = False
        self._hover(self._hit(event.position()) if self._open else None)
        return True

    def leave(self) -> None:
        """Unmark the handle that the pointer leaves."""
        self._hover(None)

    def has_key(self, event: QKeyEvent) -> bool:
        """Return whether a key cancels the drag, or removes the handle under the pointer."""
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if self._start is not None:
            return event.key() in _CANCEL
        return self._hovered is not None and event.key() in _REMOVE

    def key(self, event: QKeyEvent) -> bool:
        if not self.has_key(event):
            return False
        if self._start is not None:
            self._use(self._before)
            self._finish()
            self._canceled = True
        elif self._hovered is not None:
            self._remove(self._hovered)
        return True

    # Handles

    def _finish(self) -> None:
        self._start = self._end = self._grabbed = None
        self.released.emit()
        self.changed.emit()

    def _use(self, handles: Handles) -> None:
        if handles != self._handles:
            self._handles = handles
            self.combed.emit(handles)
        self.changed.emit()

    def _remove(self, number: int) -> None:
        self._hovered = None
        self._use(self._handles[:number] + self._handles[number + 1 :])

    def _with(self, handle: Handle) -> Handles:
        """Return the handles at the press with a new one, in place of the pressed one if any.

        Beyond MOST_HANDLES, the new one replaces the nearest.
        """
        before, number = self._before, self._grabbed
        if number is None and len(before) == MOST_HANDLES:
            shape = self._whole.width() / self._whole.height()
            number = nearest_handle(before, handle.x, handle.y, shape)
        if number is None:
            return (*before, handle)
        return (*before[:number], handle, *before[number + 1 :])

    def _hit(self, at: QPointF) -> int | None:
        """Return the number of the nearest handle within HIT pixels, on the visible picture."""
        if not self._seen.contains(at.toPoint()):
            return None
        apart = [self._apart(at, handle) for handle in self._handles]
        least = min(apart, default=math.inf)
        return apart.index(least) if least <= HIT else None

    def _apart(self, at: QPointF, handle: Handle) -> float:
        middle, along = self._on_widget(handle)
        way = QPointF.dotProduct(at - middle, along) / QPointF.dotProduct(along, along)
        return _length(at - middle - along * min(1.0, max(-1.0, way)))

    def _hover(self, number: int | None) -> None:
        if number != self._hovered:
            self._hovered = number
            self.changed.emit()

    # Places: on the widget, and in shares of the picture, which may be mirrored

    def _handle_of(self, start: QPointF, end: QPointF) -> Handle:
        """Return the handle of a drag: halfway, in its direction."""
        along = end - start
        x, y = self._share((start + end) / 2)
        angle = math.degrees(math.atan2(-along.y(), along.x()))
        if self._mirrored:
            angle = HALF_TURN - angle
        return rounded_handle(min(1.0, max(0.0, x)), min(1.0, max(0.0, y)), angle)

    def _on_widget(self, handle: Handle) -> tuple[QPointF, QPointF]:
        """Return the middle of a handle, and the vector from there to its end."""
        x, angle = handle.x, math.radians(handle.angle)
        if self._mirrored:
            x, angle = 1 - x, math.pi - angle
        size = self._whole
        middle = QPointF(size.x() + x * size.width(), size.y() + handle.y * size.height())
        return middle, QPointF(math.cos(angle), -math.sin(angle)) * _HALF

    def _inside(self, at: QPointF) -> QPointF:
        seen = QRectF(self._seen)
        return QPointF(
            min(seen.right(), max(seen.left(), at.x())), min(seen.bottom(), max(seen.top(), at.y()))
        )


def _length(along: QPointF) -> float:
    return math.hypot(along.x(), along.y())


def _draw_stroke(
    painter: QPainter, start: QPointF, end: QPointF, ink: QColor, *, thin: bool = False
) -> None:
    """Draw a stroke with round ends in a dark halo, legible on any picture."""
    width = 2.0 if thin else 5.0
    for color, across in ((HALO, width + 4), (ink, width)):
        painter.setPen(QPen(color, across, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(start, end)
