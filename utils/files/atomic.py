"""Writes files atomically: under a temporary name, which is then renamed."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LETTERS = 32  # of the final name in a temporary one; up to 4 bytes each


def temporary_name(path: Path, ending: str = ".tmp") -> Path:
    """Return an unused hidden name in the folder of `path`, for a file that will become `path`.

    With an ending of up to 4 characters, it has at most 143 bytes, the limit of encrypted file
    systems; others allow 255.
    """
    return path.with_name(f".{path.name[:LETTERS]}.{secrets.token_hex(4)}{ending}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to `path` at the end of the block.

    If the block raises, the temporary file is deleted and `path` is unchanged.

    Raises:
        OSError: If the temporary file cannot be renamed.
    """
    temporary = temporary_name(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: Path, data: bytes) -> None:
    """Write or replace a file atomically and durably, and create its folder.

    Raises:
        OSError: If the file cannot be written; it is then unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files of killed processes; no other process may be writing `path`."""
    for left in path.parent.glob(f".{glob.escape(path.name[:LETTERS])}.*.tmp"):
        left.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file's contents, or a folder's entries, to the disk.

    Raises:
        OSError: If the system cannot open or flush it.
    """
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened on Windows, which flushes them itself
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
