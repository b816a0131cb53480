"""Stacks the message bars over the top of the picture, which does not move."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget


class MessageStack(QWidget):
    """Stacks `bars` vertically; each is hidden while it is empty.

    `covered_height_changed` has the height that they cover, from the top of the area to their
    lower edge, in pixels. `parent` must be in the window of the bars, to keep their tab order.
    """

    covered_height_changed = Signal(int)

    def __init__(self, *bars: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._bars = bars
        self._area = QRect()
        self._covered_height = 0
        self._headroom = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for bar in bars:
            column.addWidget(bar)
            bar.installEventFilter(self)
        self.hide()

    def set_area(self, room: QRect) -> None:
        """Lie along the top of `room`, a rectangle of the parent."""
        if room != self._area:
            self._area = room
            self._place()

    def set_headroom(self, headroom: int) -> None:
        """Lie `headroom` pixels below the top of the area, which has content to keep visible."""
        if headroom != self._headroom:
            self._headroom = headroom
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Lay the stack out again when a bar is shown or hidden."""
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        """Lay the stack out again when the text of a bar changes."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the text of a bar changed
            self._place()
        return done

    def _place(self) -> None:
        shown = any(not bar.isHidden() for bar in self._bars)
        column = self.layout()
        assert column is not None
        top = min(self._headroom, self._area.height())
        height = column.totalHeightForWidth(self._area.width()) if shown else 0
        height = min(height, self._area.height() - top)
        self.setGeometry(self._area.x(), self._area.y() + top, self._area.width(), height)
        self.setVisible(shown)
        covered = top + height if shown else 0
        if covered != self._covered_height:
            self._covered_height = covered
            self.covered_height_changed.emit(covered)
