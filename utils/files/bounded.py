"""A file that cannot be made to take minutes by what it holds."""

from __future__ import annotations

import io
from os import PathLike

PIECES = 200_000  # reading so many takes some tenths of a second
PER_BYTE = 1 / 128  # GIF comes in the smallest pieces of all, two reads for 256 bytes


class TooManyPiecesError(Exception):
    """The file was read in more pieces than any sensible file of its length."""


class BoundedFile(io.BufferedReader):
    """A file opened for reading that raises TooManyPiecesError when it is read in too many pieces,
    and takes no memory for more than it holds.

    Readers written in Python follow whatever a header says, a byte or a small chunk at a time:
    50 MB of comments keep them busy for half a minute and fill gigabytes.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(io.FileIO(path))  # type: ignore[arg-type]  (it takes any path)
        self._length = self.seek(0, io.SEEK_END)
        self.seek(0)
        self._left = PIECES + self._length * PER_BYTE

    def allow(self, pieces: float) -> None:
        """So many pieces more."""
        self._left += pieces

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes; TooManyPiecesError once all pieces are used up."""
        self._count()
        # Python takes the memory first and reads then; a length in a file may be any number.
        return super().read(size if size is None else min(size, self._length))

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read at most one line; TooManyPiecesError once all pieces are used up."""
        self._count()
        return super().readline(size)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyPiecesError("it is made of too many pieces")
