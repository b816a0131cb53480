"""Locks files between processes; the system releases the lock of a process that dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from utils.translation.texts import tr


class LockedError(RuntimeError):
    """Raised if another process holds the lock."""


@contextmanager
def locked(path: Path, patience_s: float, *, keep: bool = False) -> Iterator[None]:
    """Hold the lock of a file, which need not exist, during the block, in a hidden file next to it.

    Args:
        patience_s: Maximum time to wait for another process, in seconds.
        keep: Whether the lock file remains. It must remain if several processes may request the
            lock at once: a process that opened it before its deletion would lock an unseen file.

    Raises:
        LockedError: If another process still holds the lock.
        OSError: If the lock file cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.with_name(f".{path.name}.lock")
    try:
        with FileLock(place, timeout=patience_s):
            try:
                yield
            finally:
                # Windows removes it on release, and cannot do so earlier
                if os.name != "nt" and not keep:
                    place.unlink(missing_ok=True)
    except Timeout:
        raise LockedError(tr("another process is working on '{file}'", file=path)) from None
