"""Lets one process at a time work on a file; the system frees the lock of a process that dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


class LockedError(RuntimeError):
    """Another process is working on the file."""


@contextmanager
def locked(path: Path, patience_s: float) -> Iterator[None]:
    """Hold `path`, which need not exist, until the block ends. LockedError if another process
    still holds it after `patience_s` seconds; OSError if no lock can be made beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.with_name(f".{path.name}.lock")
    try:
        with FileLock(place, timeout=patience_s):
            try:
                yield
            finally:
                if os.name != "nt":  # Windows removes it on release, and cannot before
                    place.unlink(missing_ok=True)
    except Timeout:
        raise LockedError(f"another process is working on '{path}'") from None
