"""Thumbnails of files, read in the background one by one as rows come into view."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QImage, QPixmap

from app.background_jobs import RunJob
from app.errors import StyleForgeError
from app.sources import pictures_in
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.small_pictures import cropped, read_preview
from utils.images.opening import ImageError

SIZE = QSize(72, 54)
SCALE = 2  # for scaled displays
MOST_KEPT = 2000  # at 30 KB
MOST_WANTED = 60  # rows scrolled past are read when visible again

Key = tuple[int, str]  # of a job and a path: another job may rewrite the same file


class Thumbnails(QObject):
    """Returns available thumbnails, and reads missing ones.

    `loaded(number)` is emitted when a job's thumbnail has been read.
    """

    loaded = Signal(int)

    def __init__(self, run: RunJob, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._made: OrderedDict[Key, QPixmap] = OrderedDict()
        self._wanted: list[Key] = []
        self._reading = False

    def get(self, number: int, path: str) -> QPixmap | None:
        """Return a thumbnail, null for a file without one.

        If it is not yet read, request it and return None.
        """
        key = number, path
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        if path and key not in self._wanted:
            self._wanted.append(key)  # the newest is read first: it is in view
            del self._wanted[:-MOST_WANTED]
            self._read_next()
        return None

    def _read_next(self) -> None:
        if self._reading or not self._wanted:
            return
        self._reading = True
        key = self._wanted[-1]

        def done(image: QImage) -> None:
            self._reading = False
            if key in self._wanted:
                self._wanted.remove(key)
            self._made[key] = QPixmap.fromImage(image)
            while len(self._made) > MOST_KEPT:
                self._made.popitem(last=False)
            self.loaded.emit(key[0])
            self._read_next()

        self._run(lambda: read_thumbnail(Path(key[1])), done, failure="Could not read a thumbnail")


def read_thumbnail(path: Path) -> QImage:
    """Read a thumbnail, cropped to SIZE times SCALE; null if nothing can be read.

    Films yield their first frame, and folders their first picture.
    """
    try:
        if path.is_dir():
            path = pictures_in(path)[0]
        pixels = read_preview(path, SIZE * SCALE).pixels
    except (StyleForgeError, ImageError, OSError):  # the row of a failed job tells why
        return QImage()
    return as_image(cropped(pixels, SIZE * SCALE)).copy()
