"""Locks files between processes; the system releases the lock of a process that dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from utils.translation.texts import tr


class LockedError(RuntimeError):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path, patience_s: float, *, keep: bool = False) -> Iterator[None]:
    """Hold the lock of a file during the block.

    Args:
        path: The file, which need not exist; the lock is a hidden file next to it.
        patience_s: How long to wait for another process, in seconds.
        keep: Whether the lock file stays there. It has to where several processes may ask for the
            lock at once: one that has opened the file before it was deleted would lock a file
            that nobody else sees.

    Raises:
        LockedError: Another process still holds the lock.
        OSError: The lock file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.with_name(f".{path.name}.lock")
    try:
        with FileLock(place, timeout=patience_s):
            try:
                yield
            finally:
                if os.name != "nt" and not keep:  # Windows removes it on release, and cannot before
                    place.unlink(missing_ok=True)
    except Timeout:
        raise LockedError(tr("another process is working on '{file}'", file=path)) from None
