"""Paints one open picture in each style, one after another, for the tiles of the dialog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QPixmap

from app.background_jobs import RunJob
from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.ui.film_strip.controller import Painter
from app.ui.film_strip.thumbnails import SCALE, SIZE, Pixels, read_small
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.small_pictures import cropped


class TilePreviews(QObject):
    """Reads a picture, then paints it once per look, in background jobs.

    Signals:
        read: The unpainted picture; null if it cannot be read, and nothing follows then.
        painted: The number of a look, and the picture in it.
        failed: The number of a look, and why it cannot paint, as a sentence.
    """

    read = Signal(QPixmap)
    painted = Signal(int, QPixmap)
    failed = Signal(int, str)

    def __init__(self, run: RunJob, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._round = 0  # results of earlier rounds are dropped

    def start(
        self,
        path: Path,
        looks: Sequence[EngineConfig],
        painter: Painter,
        ready: Mapping[int, Pixels],
    ) -> None:
        """Begin with another picture or other looks.

        Args:
            painter: Serves this round alone.
            ready: The numbers of looks, with the picture in them if that was painted before.
        """
        self._round += 1
        number = self._round
        for at, painted in ready.items():
            self.painted.emit(at, _pixmap(np.ascontiguousarray(cropped(painted, SIZE * SCALE))))

        def done(pixels: Pixels | None) -> None:
            if number == self._round:
                self.read.emit(_pixmap(pixels))
                if pixels is not None:
                    left = [at for at in range(len(looks)) if at not in ready]
                    self._paint(number, pixels, looks, left, painter)

        self._run(lambda: read_small(path), done, failure="Could not read a thumbnail")

    def stop(self) -> None:
        """Paint nothing more."""
        self._round += 1

    def _paint(
        self,
        number: int,
        pixels: Pixels,
        looks: Sequence[EngineConfig],
        left: Sequence[int],
        painter: Painter,
    ) -> None:
        if number != self._round or not left:
            return
        at = left[0]

        def work() -> Pixels | StyleForgeError:
            try:
                return painter.paint(looks[at], pixels)
            except StyleForgeError as exc:
                return exc

        def done(made: Pixels | StyleForgeError) -> None:
            if number != self._round:
                return
            if isinstance(made, StyleForgeError):
                self.failed.emit(at, str(made))
            else:
                self.painted.emit(at, _pixmap(made))
            self._paint(number, pixels, looks, left[1:], painter)

        self._run(work, done, failure="Could not paint a preview")


def _pixmap(pixels: Pixels | None) -> QPixmap:
    return QPixmap() if pixels is None else QPixmap.fromImage(as_image(pixels))
