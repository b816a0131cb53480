"""A part of an animation in a file of its own: encoded frames, one after another."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.export.film.fault import FilmError, reason
from utils.translation.texts import tr

_LENGTH = struct.Struct("<I")  # of a frame, before it


class FramesWriter:
    """Writes encoded frames into a file, which is whole once `close` has returned. For one thread.

    Args:
        path: The file.

    Attributes:
        path: The file.
        start: When the first frame is shown, in the film's time base.
        times: When each frame is shown after that.
        duration: For how long the last one is.

    Raises:
        FilmError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = self.duration = 0
        self.times: list[int] = []
        try:
            self._file = path.open("wb")
        except OSError as exc:
            raise _unwritable(exc) from exc

    @property
    def frames(self) -> int:
        """How many frames it has."""
        return len(self.times)

    def write(self, frame: bytes, pts: int, duration: int) -> None:
        """Write a frame.

        Args:
            frame: Encoded.
            pts: When it is shown, in the film's time base; later than the one before.
            duration: For how long, in the film's time base.

        Raises:
            FilmError: It cannot be written.
        """
        if not self.times:
            self.start = pts
        try:
            self._file.write(_LENGTH.pack(len(frame)) + frame)
        except OSError as exc:
            raise _unwritable(exc) from exc
        self.times.append(pts - self.start)
        self.duration = duration

    def close(self) -> None:
        """Complete the file. Raises FilmError if it cannot be written."""
        try:
            self._file.close()
        except OSError as exc:
            raise _unwritable(exc) from exc

    def discard(self) -> None:
        """Give the file up."""
        with suppress(OSError):  # its owner deletes what cannot be completed
            self._file.close()


def frames_in(path: Path) -> Iterator[bytes]:
    """Read the frames of a part.

    Raises:
        FilmError: It is damaged.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
            frame = file.read(max(0, length))
            if len(frame) != length:
                raise FilmError(tr("a finished part of it ('{file}') is damaged", file=path.name))
            yield frame


def _unwritable(exc: OSError) -> FilmError:
    return FilmError(tr("a part of it cannot be written: {fault}", fault=reason(exc)))
