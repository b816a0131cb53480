"""Writes a file whole or not at all, under a temporary name until then."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LETTERS = 32  # of the final name in a temporary one; 4 bytes each at most


def temporary_name(path: Path, ending: str = ".tmp") -> Path:
    """A hidden name beside `path` that no file has, for writing what is to become `path`.

    It is at most 143 bytes long whatever `path` is called (with an `ending` of 4), the least that
    a file system in use allows (255, less where names are encrypted).
    """
    return path.with_name(f".{path.name[:LETTERS]}.{secrets.token_hex(4)}{ending}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write to, renamed to `path` once the block is done; if it raises, what
    was written is deleted and `path` is as it was. OSError if it cannot be renamed."""
    temporary = temporary_name(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: Path, data: bytes) -> None:
    """Write `data` to a temporary name beside `path`, then rename; OSError leaves what was
    there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that killed processes left of writing `path`. Only for a caller
    who knows that no other process is writing it."""
    for left in path.parent.glob(f".{glob.escape(path.name[:LETTERS])}.*.tmp"):
        left.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have a file's content, or the names in a folder, survive a power failure from now on; OSError
    if the disk refuses."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders, and keeps their names by itself
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
