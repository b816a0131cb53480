"""Splits long work on the GUI thread into steps, so that the window stays responsive."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer


class IncrementalWork(QObject):
    """Runs an iterator, one step per iteration of the event loop."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._work: Iterator[object] = iter(())
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._step)

    def start(self, work: Iterator[object]) -> None:
        """Run the first step of `work` now and the others later; abandon earlier work."""
        self._work = work
        self._timer.start()
        self._step()

    def _step(self) -> None:
        try:
            next(self._work)
        except StopIteration:
            self._timer.stop()
