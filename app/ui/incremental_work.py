"""Does long work on the GUI thread in pieces, so that the window answers in between."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer


class IncrementalWork(QObject):
    """Goes on with one piece of work in every turn of the event loop."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._work: Iterator[object] = iter(())
        self._turn = QTimer(self, interval=0)
        self._turn.timeout.connect(self._go_on)

    def begin(self, work: Iterator[object]) -> None:
        """Do `work` up to its first yield now, and from there on in later turns; what is left of
        the work before is not done any more."""
        self._work = work
        self._turn.start()
        self._go_on()

    def _go_on(self) -> None:
        try:
            next(self._work)
        except StopIteration:
            self._turn.stop()
