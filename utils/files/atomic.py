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

    Args:
        ending: The end of the name. With up to 4 characters, the name has at most 143 bytes, the
            limit of encrypted file systems; others allow 255.
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
    """Write a file atomically and durably.

    Args:
        path: The file to write or replace; its folder is created if it does not exist.

    Raises:
        OSError: If the file cannot be written; it is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files of processes that were killed while writing `path`.

    The caller must ensure that no other process is writing it.
    """
    for left in path.parent.glob(f".{glob.escape(path.name[:LETTERS])}.*.tmp"):
        left.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush the contents of a file, or the entries of a folder, to the disk.

    Raises:
        OSError: If the disk reports an error.
    """
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened on Windows, which flushes them itself
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
