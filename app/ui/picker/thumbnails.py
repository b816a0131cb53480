"""Thumbnails of the files in view, read in the background."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QImage, QPixmap

from app.background_jobs import RunJob
from app.errors import StyleForgeError
from app.ui.picker.entries import Entry
from app.ui.picker.facts import contents_text
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.small_pictures import fitted, read_preview
from utils.images.moving import FILM_ENDINGS
from utils.images.opening import ImageError, picture_endings
from utils.text import printable
from utils.translation.texts import tr

SIZE = QSize(144, 108)
SCALE = 2  # for scaled displays
MOST_KEPT = 200  # at 250 KB, more than are visible on most screens
_AT_ONCE = 2  # the window needs the other processors

_Key = tuple[Path, float]  # a file that was written again is read again


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnail:
    """A thumbnail, null for a file that cannot be shown; `fault` says why.

    Attributes:
        contents: The size of the picture or film in pixels and its duration, as text.
        seconds: The duration of a film, 0 for a picture.
    """

    pixmap: QPixmap
    contents: str = ""
    seconds: float = 0.0
    fault: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The result of a job, which may not create pixmaps."""

    image: QImage
    contents: str = ""
    seconds: float = 0.0
    fault: str = ""


class FolderThumbnails(QObject):
    """Returns available thumbnails, and reads those in view one after another.

    Thumbnails that were scrolled past are read when they are in view again.

    Attributes:
        in_view: Returns the visible entries; the first is read first.

    Signals:
        made: The Path of a thumbnail that has been read.
    """

    made = Signal(Path)

    def __init__(self, run: RunJob, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._made: OrderedDict[_Key, Thumbnail] = OrderedDict()
        self._reading: set[_Key] = set()
        self.in_view: Callable[[], Sequence[Entry]] = tuple

    @property
    def reading(self) -> int:
        """The number of files being read."""
        return len(self._reading)

    def get(self, entry: Entry) -> Thumbnail | None:
        """Return a thumbnail; if it is not yet read, read what is in view and return None."""
        key = _key_of(entry)
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        self._read_next()
        return None

    def known(self, entry: Entry) -> Thumbnail | None:
        """Return a thumbnail that has been read, without requesting it."""
        return self._made.get(_key_of(entry))

    def _read_next(self) -> None:
        if len(self._reading) >= _AT_ONCE:
            return
        keys = (_key_of(entry) for entry in self.in_view() if has_thumbnail(entry))
        left = (key for key in keys if key not in self._made and key not in self._reading)
        if (key := next(left, None)) is None:
            return
        self._reading.add(key)

        def done(read: _Read) -> None:
            self._reading.discard(key)
            pixmap = QPixmap.fromImage(read.image)
            self._made[key] = Thumbnail(pixmap, read.contents, read.seconds, read.fault)
            while len(self._made) > max(MOST_KEPT, 2 * len(self.in_view())):
                self._made.popitem(last=False)
            self.made.emit(key[0])
            self._read_next()

        self._run(lambda: _read(key[0]), done, failure="Could not read a thumbnail")


def _key_of(entry: Entry) -> _Key:
    return entry.path, entry.changed


def has_thumbnail(entry: Entry) -> bool:
    """Return whether an entry is a picture or film by its name."""
    ending = entry.path.suffix.lower()
    return not entry.folder and (ending in picture_endings() or ending in FILM_ENDINGS)


def _read(path: Path) -> _Read:
    try:
        preview = read_preview(path, SIZE * SCALE)
    except (StyleForgeError, ImageError) as exc:
        return _Read(QImage(), fault=str(exc))
    except OSError as exc:
        name = printable(path.name)
        fault = tr("'{file}' cannot be read: {error}", file=name, error=exc.strerror)
        return _Read(QImage(), fault=fault)
    image = as_image(fitted(preview.pixels, SIZE * SCALE)).copy()
    return _Read(image, contents_text(preview), preview.seconds)
