"""The playback bar for videos and strips: back, pause, forward, position."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSlider, QWidget

from app.frame import SourceInfo
from app.ui.theme.tokens import SPACE
from app.ui.widgets.status_bar import clock
from app.ui.widgets.toolbar import tool_button

TICKS = 10  # slider positions per second of a video


class PlaybackBar(QFrame):
    """Hidden for sources without positions.

    `seek_requested(position)` is in seconds for a video, and an index for a strip.
    """

    seek_requested = Signal(float)

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transport")
        self._info: SourceInfo | None = None
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setAccessibleName("Position")
        self.slider.setToolTip("Where in the video or strip; drag, or use the arrow keys")
        self.slider.valueChanged.connect(self._moved)
        self._position_label = QLabel(self)
        self._position_label.setProperty("role", "muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE, SPACE // 2, 2 * SPACE, SPACE // 2)
        for key in ("previous", "pause", "next"):
            row.addWidget(tool_button(actions[key], self))
        row.addWidget(self.slider, 1)
        row.addWidget(self._position_label)
        self.hide()

    def show_source(self, info: SourceInfo | None) -> None:
        """Set the range of the slider for a newly opened source."""
        self._info = info
        if info is None or not (info.duration or info.count > 1):
            self.hide()
            return
        last = round(info.duration * TICKS) if info.duration else info.count - 1
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, last)
        self.slider.setPageStep(5 * TICKS if info.duration else 1)
        self.slider.setSingleStep(TICKS if info.duration else 1)
        self.slider.blockSignals(blocked)
        self.show_position(0.0)
        self.show()

    def show_position(self, position: float) -> None:
        """Show the position, except while the user drags the slider."""
        if self._info is None:
            return
        if not self.slider.isSliderDown():
            blocked = self.slider.blockSignals(True)
            self.slider.setValue(round(position * (TICKS if self._info.duration else 1)))
            self.slider.blockSignals(blocked)
        self._position_label.setText(self._position_text(position))

    def _position_text(self, position: float) -> str:
        assert self._info is not None
        if self._info.duration:
            return f"{clock(position)} / {clock(self._info.duration)}"
        return f"{int(position) + 1} of {self._info.count}"

    def _moved(self, value: int) -> None:
        if self._info is not None:
            self.seek_requested.emit(value / TICKS if self._info.duration else float(value))
