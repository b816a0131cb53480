"""A slider whose handle jumps to a click, as in players, instead of moving by a page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider


class JumpSlider(QSlider):
    """A horizontal slider; a press beside the handle moves it there and begins a drag."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the handle below the pointer first, so that Qt drags it from there."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._jump_to(event.position().x())
        super().mousePressEvent(event)

    def _jump_to(self, x: float) -> None:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        parts, whole = QStyle.SubControl, QStyle.ComplexControl.CC_Slider
        handle = self.style().subControlRect(whole, option, parts.SC_SliderHandle, self)
        groove = self.style().subControlRect(whole, option, parts.SC_SliderGroove, self)
        if handle.left() <= x <= handle.right():
            return
        self.setSliderPosition(
            QStyle.sliderValueFromPosition(
                self.minimum(),
                self.maximum(),
                round(x - groove.x() - handle.width() / 2),
                groove.width() - handle.width(),
                option.upsideDown,
            )
        )
