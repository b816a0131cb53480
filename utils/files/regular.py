"""Reads regular files only: a pipe, a device or a folder hangs, never ends or is none."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: Path) -> None:
    """OSError unless `path` is a regular file, or a link to one; its `strerror` says why not."""
    try:
        status = path.stat()
    except ValueError as exc:
        raise _nameless() from exc
    _check(status)


def open_regular(path: Path, most: int) -> BinaryIO:
    """The file at `path`, open for reading. OSError as check_regular, and for one larger than
    `most` bytes."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  (the caller closes it)
    except ValueError as exc:
        raise _nameless() from exc
    try:
        status = os.fstat(file.fileno())  # of what was opened, whatever the name stands for by now
        _check(status)
        if status.st_size > most:
            raise _too_large(most)
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """The content of `path`. OSError as open_regular."""
    with open_regular(path, most) as file:
        data = file.read(most + 1)  # some files of the system are longer than they say
    if len(data) > most:
        raise _too_large(most)
    return data


def _without_waiting(path: str, flags: int) -> int:
    # Opening a pipe would wait for somebody to write; Windows knows neither the pipe nor the flag.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = next((name for is_one, name in _KINDS if is_one(status.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"it is {what}, not a file")


def _nameless() -> OSError:
    return OSError(errno.EINVAL, "no file can have this name")


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most >> 20} MB")
