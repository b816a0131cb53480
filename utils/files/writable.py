"""Says whether a folder can be written to, before work is done that would be lost."""

from __future__ import annotations

import tempfile
from pathlib import Path


def write_error(folder: Path) -> str:
    """Why no file can be made in `folder`, which need not exist yet; empty if one can."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as exc:
        return exc.strerror or str(exc)
