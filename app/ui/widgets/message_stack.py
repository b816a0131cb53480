"""The bars with something to say, over the top of the picture, which stays where it is."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget


class MessageStack(QWidget):
    """Holds `bars`, one below the other, each hidden while it has nothing to say. `covered` says
    how many pixels of the picture's top lie under them. With a `parent` in the window of the bars,
    these keep their places in the order of Tab."""

    covered = Signal(int)

    def __init__(self, *bars: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._bars = bars
        self._room = QRect()
        self._covers = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for bar in bars:
            column.addWidget(bar)
            bar.installEventFilter(self)
        self.hide()

    def lie_in(self, room: QRect) -> None:
        """Lie along the top of `room`, of the parent."""
        if room != self._room:
            self._room = room
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # a bar says something longer or shorter
            self._place()
        return done

    def _place(self) -> None:
        shown = any(not bar.isHidden() for bar in self._bars)
        column = self.layout()
        assert column is not None
        height = column.totalHeightForWidth(self._room.width()) if shown else 0
        height = min(height, self._room.height())
        self.setGeometry(self._room.x(), self._room.y(), self._room.width(), height)
        self.setVisible(shown)
        if height != self._covers:
            self._covers = height
            self.covered.emit(height)
