"""Parts of an animation: files with encoded frames, one after another."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.export.film.fault import FilmError, reason
from utils.translation.texts import tr

_LENGTH = struct.Struct("<I")  # a frame's length, which precedes the frame


class FramesWriter:
    """A PartWriter of encoded frames.

    Raises:
        FilmError: If the file cannot be opened.
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
        return len(self.times)

    def write(self, frame: bytes, pts: int, duration: int) -> None:
        if not self.times:
            self.start = pts
        try:
            self._file.write(_LENGTH.pack(len(frame)) + frame)
        except OSError as exc:
            raise _unwritable(exc) from exc
        self.times.append(pts - self.start)
        self.duration = duration

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as exc:
            raise _unwritable(exc) from exc

    def discard(self) -> None:
        with suppress(OSError):  # the owner deletes files that cannot be completed
            self._file.close()


def frames_in(path: Path) -> Iterator[bytes]:
    """Read the frames of a part.

    Raises:
        FilmError: If the part is damaged.
        OSError: If the part cannot be read.
    """
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
            frame = file.read(max(0, length))
            if len(frame) != length:
                raise FilmError(tr("a finished part ('{file}') is damaged", file=path.name))
            yield frame


def _unwritable(exc: OSError) -> FilmError:
    return FilmError(tr("a part of it cannot be written: {fault}", fault=reason(exc)))
