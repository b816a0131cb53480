"""Checks that a folder can be written to, before starting work whose result goes there."""

from __future__ import annotations

import tempfile
from pathlib import Path


def write_error(folder: Path) -> str:
    """Return why a folder is not writable.

    Args:
        folder: It need not exist; then its nearest existing parent is tested.

    Returns:
        The system's reason; "" if a file can be created.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as exc:
        return exc.strerror or str(exc)
