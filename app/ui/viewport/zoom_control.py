"""Zooms and moves the picture of the viewport: by wheel, pinch, drag, double click and keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QGestureEvent, QPinchGesture, QWidget

from app.ui.viewport.zoom import STEP, Zoom

NOTCH = 120  # of the wheel, in Qt's eighths of a degree
KEY_STEP = 0.1  # fraction of the area that a key press moves the picture by
_BUTTONS = (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton)
_KEYS: dict[int, tuple[int, int]] = {
    Qt.Key.Key_Left: (1, 0),
    Qt.Key.Key_Right: (-1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}


class ZoomControl(QObject):
    """Zooms and moves a picture painted in one or two areas; `changed` asks for a repaint."""

    changed = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._zoom = Zoom()
        self._picture = QSize()
        self._areas: list[QRect] = []
        self._dragged: QPointF | None = None  # the last position of the pointer
        widget.grabGesture(Qt.GestureType.PinchGesture)

    # State for painting

    @property
    def zoomed(self) -> bool:
        return self._zoom.factor is not None

    @property
    def dragging(self) -> bool:
        return self._dragged is not None

    @property
    def text(self) -> str:
        """The zoom, as in "150 %"; "" if the picture is fitted."""
        return "" if self._zoom.factor is None else f"{self._zoom.factor * 100:.0f} %"

    @property
    def shown_size(self) -> QSize | None:
        """The size of the whole picture in screen pixels; None if it is fitted."""
        if self._zoom.factor is None or not self._areas:
            return None
        return self._zoom.place(self._picture, self._areas[0]).size()

    def show_picture(self, picture: QSize) -> None:
        """Fit a picture of a new size; a picture of the same size keeps the zoom."""
        if picture != self._picture:
            self._picture = picture
            self._use(Zoom())

    def begin_paint(self) -> None:
        """Forget the areas of the previous paint."""
        self._areas = []

    def place(self, area: QRect) -> QRect:
        """Return the picture's rectangle, in screen pixels as `area`. Call once per area."""
        self._areas.append(area)
        return self._zoom.place(self._picture, area)

    # Commands

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom about a point of the widget, or the center of the area."""
        if (area := self._area(at)) is not None:
            self._use(self._zoom.by(factor, self._on_screen(at, area), self._picture, area))

    def zoom_in(self) -> None:
        self.zoom_by(STEP)

    def zoom_out(self) -> None:
        self.zoom_by(1 / STEP)

    def fit(self) -> None:
        self._use(Zoom())

    def actual_size(self, at: QPointF | None = None) -> None:
        """Show each picture pixel as one screen pixel."""
        if (area := self._area(at)) is not None:
            self._use(self._zoom.to(1.0, self._on_screen(at, area), self._picture, area))

    def toggle(self, at: QPointF) -> None:
        self.fit() if self.zoomed else self.actual_size(at)

    # Events of the widget; each method returns whether it used the event

    def wheel(self, event: QWheelEvent) -> bool:
        turned = event.angleDelta().y()
        if turned:
            self.zoom_by(STEP ** (turned / NOTCH), event.position())
        return bool(turned)

    def gesture(self, event: QEvent) -> bool:
        """Zoom with two fingers on a touchpad or touch screen."""
        if isinstance(event, QNativeGestureEvent):
            match event.gestureType():
                case Qt.NativeGestureType.ZoomNativeGesture:
                    self.zoom_by(max(0.1, 1 + event.value()), event.position())
                case Qt.NativeGestureType.SmartZoomNativeGesture:
                    self.toggle(event.position())
                case _:
                    return False
            return True
        if not isinstance(event, QGestureEvent):
            return False
        pinch = event.gesture(Qt.GestureType.PinchGesture)
        if not isinstance(pinch, QPinchGesture):
            return False
        middle = self._widget.mapFromGlobal(pinch.hotSpot())
        self.zoom_by(pinch.scaleFactor(), middle)
        return True

    def press(self, event: QMouseEvent) -> bool:
        if not self.zoomed or event.button() not in _BUTTONS:
            return False
        self._dragged = event.position()
        return True

    def move(self, event: QMouseEvent) -> bool:
        if self._dragged is None or not any(event.buttons() & button for button in _BUTTONS):
            return False
        self._move(event.position() - self._dragged)
        self._dragged = event.position()
        return True

    def release(self) -> None:
        self._dragged = None

    def has_key(self, event: QKeyEvent) -> bool:
        """Return whether a key moves the picture: Alt and an arrow, while zoomed."""
        alone = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        return self.zoomed and alone == Qt.KeyboardModifier.AltModifier and event.key() in _KEYS

    def key(self, event: QKeyEvent) -> bool:
        area = self._area(None)
        if area is None or not self.has_key(event):
            return False
        right, down = _KEYS[event.key()]
        step = KEY_STEP / self._widget.devicePixelRatioF()
        self._move(QPointF(right * area.width() * step, down * area.height() * step))
        return True

    def _move(self, by: QPointF) -> None:
        if (area := self._area(self._dragged)) is not None:
            by = by * self._widget.devicePixelRatioF()
            self._use(self._zoom.moved(by, self._picture, area))

    def _area(self, at: QPointF | None) -> QRect | None:
        """Return the area at a point of the widget, else the first area; None without areas."""
        if not self._areas or self._picture.isEmpty():
            return None
        if at is None:
            return self._areas[0]
        place = (at * self._widget.devicePixelRatioF()).toPoint()
        return next((area for area in self._areas if area.contains(place)), self._areas[0])

    def _on_screen(self, at: QPointF | None, area: QRect) -> QPointF:
        if at is None:
            return QPointF(area.x() + area.width() / 2, area.y() + area.height() / 2)
        return at * self._widget.devicePixelRatioF()

    def _use(self, zoom: Zoom) -> None:
        if zoom != self._zoom:
            self._zoom = zoom
            self.changed.emit()
