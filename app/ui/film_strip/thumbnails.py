"""Thumbnails of files, styled in the background as they come into view."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QPixmap

from app.background_jobs import RunJob
from app.errors import StyleForgeError
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.small_pictures import Pixels, cropped, read_reduced
from utils.images.opening import ImageError

log = logging.getLogger(__name__)
Paint = Callable[[Pixels], Pixels]  # keeps the size; on another thread, one call at a time

SIZE = QSize(88, 66)
SCALE = 2  # for scaled displays
MOST_KEPT = 240  # of each kind, far more than are visible; 93 KB each, 44 MB together
MOST_WANTED = 40  # thumbnails scrolled past are made when visible again


class StripThumbnails(QObject):
    """Returns available thumbnails and makes missing ones: first plain pictures, then styled ones.

    Signals:
        made: The path of a newly available thumbnail.
        failed: Why pictures cannot be styled, as a sentence; they stay unstyled.
    """

    made = Signal(Path)
    failed = Signal(str)

    def __init__(self, run: RunJob, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._plain: OrderedDict[Path, Pixels | None] = OrderedDict()
        self._shown: OrderedDict[Path, tuple[Hashable, QPixmap]] = OrderedDict()
        self._wanted: list[Path] = []
        self._look: Hashable = None
        self._paint: Paint | None = None
        self._working = self._closed = False

    @property
    def kept(self) -> int:
        """The larger of the numbers of plain and of shown thumbnails in memory."""
        return max(len(self._plain), len(self._shown))

    def set_look(self, look: Hashable, paint: Paint | None) -> None:
        """Style differently from now on; older thumbnails stay until replaced.

        Args:
            look: A value that is equal for equal results.
            paint: Styles a thumbnail; None for plain ones.
        """
        self._look, self._paint = look, paint

    def get(self, path: Path) -> QPixmap | None:
        """Return a thumbnail, requesting it if missing; null if the file cannot be read."""
        shown = self._shown.get(path)
        if shown is not None:
            self._shown.move_to_end(path)
        if (shown is None or not self._finished(shown)) and path not in self._wanted:
            self._wanted.append(path)  # the newest is made first: it is in view
            del self._wanted[:-MOST_WANTED]
            self._make_next()
        return None if shown is None else shown[1]

    def close(self) -> None:
        self._closed = True
        self._wanted.clear()

    def _finished(self, shown: tuple[Hashable, QPixmap]) -> bool:
        return self._paint is None or shown[1].isNull() or shown[0] == self._look

    def _make_next(self) -> None:
        if self._working or self._closed or not self._wanted:
            return
        unread = [path for path in self._wanted if path not in self._plain]
        path = (unread or self._wanted)[-1]
        self._working = True
        if unread:
            self._run(
                lambda: read_small(path),
                lambda pixels: self._on_read(path, pixels),
                failure="Could not read a thumbnail",
            )
            return
        pixels, paint, look = self._plain[path], self._paint, self._look
        if pixels is None or paint is None:
            self._wanted.remove(path)
            self._working = False
            self._make_next()
            return

        def work() -> Pixels | StyleForgeError:
            try:
                return paint(pixels)
            except StyleForgeError as exc:
                log.info("a thumbnail could not be styled", exc_info=True)
                return exc

        self._run(
            work,
            lambda painted: self._on_painted(path, look, painted),
            failure="Could not style a thumbnail",
        )

    def _on_read(self, path: Path, pixels: Pixels | None) -> None:
        self._plain[path] = pixels
        while len(self._plain) > MOST_KEPT:
            self._plain.popitem(last=False)
        if path not in self._shown:
            self._show(path, None, pixels)
        self._go_on(path, done=self._paint is None or pixels is None)

    def _on_painted(self, path: Path, look: Hashable, painted: Pixels | StyleForgeError) -> None:
        if isinstance(painted, StyleForgeError):
            if look == self._look:
                self._paint = None
                self._wanted.clear()
                self.failed.emit(str(painted))
        else:
            self._show(path, look, painted)
        self._go_on(path, done=look == self._look)

    def _show(self, path: Path, look: Hashable, pixels: Pixels | None) -> None:
        pixmap = QPixmap() if pixels is None else QPixmap.fromImage(as_image(pixels))
        self._shown[path] = look, pixmap
        while len(self._shown) > MOST_KEPT:
            self._shown.popitem(last=False)
        self.made.emit(path)

    def _go_on(self, path: Path, *, done: bool) -> None:
        self._working = False
        if done and path in self._wanted:
            self._wanted.remove(path)
        self._make_next()


def read_small(path: Path) -> Pixels | None:
    """Read a picture, cropped to SIZE times SCALE; None if it cannot be read."""
    try:
        return cropped(read_reduced(path, SIZE * SCALE), SIZE * SCALE)
    except (ImageError, OSError):  # opening the picture reports the reason
        return None
