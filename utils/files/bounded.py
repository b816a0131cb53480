"""Limits the number of reads from a file, and so the time to parse a hostile one."""

from __future__ import annotations

import io
from os import PathLike

from utils.translation.texts import tr

PIECES = 200_000  # reads, which take some tenths of a second
PER_BYTE = 1 / 128  # additional reads per byte; GIF needs the most, two per 256 bytes


class TooManyPiecesError(Exception):
    """Raised if a file is read in more pieces than any valid file of its length needs."""


class BoundedFile(io.BufferedReader):
    """A file for reading with a limited number of reads, and buffers no larger than the file.

    Parsers written in Python follow the lengths in a file, a byte or a small chunk at a time: 50
    MB of comments take them half a minute and gigabytes of memory.

    Raises:
        OSError: If the file cannot be opened.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(io.FileIO(path))  # type: ignore[arg-type]  (it takes any path)
        self._length = self.seek(0, io.SEEK_END)
        self.seek(0)
        self._left = PIECES + self._length * PER_BYTE

    def allow(self, pieces: float) -> None:
        """Raise the limit by a number of reads."""
        self._left += pieces

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes. Raise TooManyPiecesError beyond the limit."""
        self._count()
        # Python allocates `size` bytes before it reads, and `size` may come from the file.
        return super().read(size if size is None else min(size, self._length))

    def readline(self, size: int | None = -1, /) -> bytes:
        self._count()
        return super().readline(size)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyPiecesError(tr("it is made of too many pieces"))
