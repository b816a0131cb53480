"""Watches background compilation of kernels, and reports when the stream gets faster."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.ui.speed.words import COMPILING, faster_words
from kernels.jit import build
from utils.translation.texts import tr

LOOK_MS = 500
SETTLED_MS = 6000  # until the stream's rate reflects the new kernels


class CompileWatch(QObject):
    """Shows that kernels are being compiled, and reports the stream's speedup afterwards.

    Args:
        fps: Returns the stream's frames per second, or 0 without a stream.
        show: Called with a text when compilation begins, and with "" when it ends.
        say: Called with a sentence if the stream became faster.
    """

    def __init__(
        self,
        fps: Callable[[], float],
        show: Callable[[str], None],
        say: Callable[[str], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._fps, self._show, self._say = fps, show, say
        self._compiling = False
        self._before = 0.0  # frames a second with the old kernels
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self.look)
        self._look.start()
        self._settled = QTimer(self, interval=SETTLED_MS, singleShot=True)
        self._settled.timeout.connect(self.compare)

    def look(self) -> None:
        compiling = build.BUILDING in build.reasons().values()
        if compiling:
            self._before = self._fps() or self._before
        if compiling == self._compiling:
            return
        self._compiling = compiling
        self._show(tr(COMPILING) if compiling else "")
        if not compiling:
            self._settled.start()

    def compare(self) -> None:
        """Report the speedup of the stream, if any."""
        if not self._compiling and (words := faster_words(self._before, self._fps())):
            self._say(words)
            self._before = 0.0
