"""Checks that a folder can be written to, before starting work whose result goes there."""

from __future__ import annotations

import tempfile
from pathlib import Path


def write_error(folder: Path) -> str:
    """Return the system's reason why no file can be created in a folder; "" if one can.

    For a folder that does not exist, its nearest existing parent is tested.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as exc:
        return exc.strerror or str(exc)
