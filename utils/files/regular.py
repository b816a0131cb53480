"""Reads regular files only: reading a pipe or a device may block or never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from utils.translation.numbers import number
from utils.translation.texts import mark, tr

_PIECE = 1 << 20  # bytes
_KINDS = (
    (stat.S_ISDIR, mark("it is a folder, not a file")),
    (stat.S_ISFIFO, mark("it is a pipe, not a file")),
    (stat.S_ISSOCK, mark("it is a socket, not a file")),
    (stat.S_ISCHR, mark("it is a device, not a file")),
    (stat.S_ISBLK, mark("it is a device, not a file")),
)
_ANOTHER = mark("it is something else, not a file")


def check_regular(path: Path) -> None:
    """Raise OSError, its reason in `strerror`, unless a path is a regular file or a link to one."""
    try:
        status = path.stat()
    except ValueError as exc:
        raise _nameless() from exc
    _check(status)


def open_regular(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading.

    Raises:
        OSError: If the file is not regular, is too large or cannot be opened. `strerror` is the
            reason.
    """
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  (the caller closes it)
    except ValueError as exc:
        raise _nameless() from exc
    try:
        status = os.fstat(file.fileno())  # of the open file: the path may have been replaced
        _check(status)
        if status.st_size > most:
            raise _too_large(most)
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    data = bytearray()
    with open_regular(path, most) as file:
        # In pieces: a single read would allocate memory for the maximum size.
        while piece := file.read(min(_PIECE, most + 1 - len(data))):
            data += piece
    if len(data) > most:  # files in /proc are longer than their size
        raise _too_large(most)
    return bytes(data)


def _without_waiting(path: str, flags: int) -> int:
    # Opening a FIFO would block until a process writes; Windows has neither FIFOs nor the flag.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        said = next((said for is_one, said in _KINDS if is_one(status.st_mode)), _ANOTHER)
        raise OSError(errno.EINVAL, tr(said))


def _nameless() -> OSError:
    return OSError(errno.EINVAL, tr("this is not a valid file name"))


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, tr("it is larger than {n} MB", n=number(most >> 20)))
