"""The brush over the picture: a circle at the pointer, and the drags that paint or erase."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.ui.viewport.picture_tool import HALO, PictureTool
from app.ui.viewport.text_painting import INK

SMALLEST, LARGEST = 0.005, 0.25  # radius, in shares of the picture's long side
USUAL = 0.06
_STEP = 1.25  # by which a key changes the radius
_BUTTONS = {Qt.MouseButton.LeftButton: False, Qt.MouseButton.RightButton: True}  # erases
_SIZES = {Qt.Key.Key_Comma: 1 / _STEP, Qt.Key.Key_Period: _STEP}


class BrushControl(PictureTool):
    """Follows drags across the picture, and paints the brush's circle.

    Attributes:
        erases: Whether the left button erases; the right one always does. May be set.

    Signals:
        pressed: A drag or click begins: its place, and whether it erases. `released` or `canceled`
            ends it.
        moved: The drag goes on to a place, (x, y) in shares of the picture.
        released: The drag or click ended.
        canceled: The drag is taken back.
        resized: The radius that the user chose.
    """

    pressed = Signal(object, bool)
    moved = Signal(object)
    released = Signal()
    canceled = Signal()
    resized = Signal(float)

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.erases = False
        self._radius = USUAL
        self._pointer: QPointF | None = None  # None outside of the widget
        self._button: Qt.MouseButton | None = None  # of the drag
        self._canceled = False  # the drag, whose button is still down

    # State

    @property
    def dragging(self) -> bool:
        return self._button is not None and not self._canceled

    @property
    def radius(self) -> float:
        """Share of the picture's long side; writable, from SMALLEST to LARGEST."""
        return self._radius

    @radius.setter
    def radius(self, radius: float) -> None:
        radius = min(LARGEST, max(SMALLEST, radius))
        if radius != self._radius:
            self._radius = radius
            self.changed.emit()

    def show_brush(self, *, on: bool, hint: str = "") -> None:
        """Follow drags if `on`, with `hint` over the picture; a drag ends with the brush."""
        if not on and self.dragging:
            self._canceled = True
            self.released.emit()
        if (on, hint) != (self._open, self._hint):
            self._open, self._hint = on, hint
            self.changed.emit()

    # Painting

    def paint(self, painter: QPainter) -> None:
        """Paint the circle and the hint."""
        if not self._open:
            return
        at = self._pointer
        if at is not None and (self.dragging or self._seen.contains(at.toPoint())):
            self._paint_circle(painter, at)
        if not self.dragging:
            self._paint_hint(painter)

    def _paint_circle(self, painter: QPainter, at: QPointF) -> None:
        """Paint a bright circle in a dark one, legible on any picture; dashed for the eraser."""
        radius = self._radius * max(self._whole.width(), self._whole.height())
        painter.save()
        painter.setClipRect(self._seen, Qt.ClipOperation.IntersectClip)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        erases = self._erases_with(self._button)
        style = Qt.PenStyle.DashLine if erases else Qt.PenStyle.SolidLine
        for ink, across, line in ((HALO, 4.0, Qt.PenStyle.SolidLine), (INK, 2.0, style)):
            painter.setPen(QPen(ink, across, line))
            painter.drawEllipse(at, radius, radius)
        for ink, across in ((HALO, 5.0), (INK, 2.0)):
            painter.setPen(QPen(ink, across, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPoint(at)
        painter.restore()

    def cursor(self, at: QPointF) -> Qt.CursorShape | None:
        """Return the pointer's shape at a place; None if the brush does not set it."""
        over = self._open and self._seen.contains(at.toPoint())
        return Qt.CursorShape.BlankCursor if self.dragging or over else None

    # Events of the widget; each method returns whether it used the event

    def press(self, event: QMouseEvent) -> bool:
        """Begin a drag on the picture; with Shift, presses are left to the zoom."""
        at, shifted = event.position(), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if self._button is not None:
            return True  # another button during a drag
        usable = self._open and event.button() in _BUTTONS and not shifted
        if not usable or not self._seen.contains(at.toPoint()):
            return False
        self._button, self._pointer = event.button(), at
        self.pressed.emit(self._share(at), self._erases_with(self._button))
        self.changed.emit()
        return True

    def move(self, event: QMouseEvent) -> bool:
        """Paint on to the pointer, or move the circle there."""
        self._pointer = event.position()
        if self.dragging and not self._whole.isEmpty():
            self.moved.emit(self._share(self._pointer))
        if self._open:
            self.changed.emit()
        return self._button is not None

    def release(self, event: QMouseEvent) -> bool:
        """End a drag."""
        if self._button is None or event.button() != self._button:
            return self._button is not None
        ended = self.dragging
        self._button, self._canceled = None, False
        if ended:
            self.released.emit()
        self.changed.emit()
        return True

    def leave(self) -> None:
        """Hide the circle, unless a drag goes on outside."""
        if not self.dragging:
            self._pointer = None
            self.changed.emit()

    def has_key(self, event: QKeyEvent) -> bool:
        """Return whether a key changes the brush's size, or takes the drag back."""
        if not self._open or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        return event.key() in _SIZES or (self.dragging and event.key() == Qt.Key.Key_Escape)

    def key(self, event: QKeyEvent) -> bool:
        if not self.has_key(event):
            return False
        if event.key() == Qt.Key.Key_Escape:
            self._canceled = True
            self.canceled.emit()
            self.changed.emit()
        else:
            self.radius *= _SIZES[Qt.Key(event.key())]
            self.resized.emit(self.radius)
        return True

    def _erases_with(self, button: Qt.MouseButton | None) -> bool:
        return self.erases or (button is not None and _BUTTONS[button])
